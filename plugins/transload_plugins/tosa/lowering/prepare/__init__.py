"""What is done to a module of `top` ops before its ops are lowered one by one."""
