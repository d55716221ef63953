"""Passes on modules of dialect `tf`: what is done before its ops are converted, one by one."""
