"""What can be found out about a module without changing it: from facts about its ops, into tables beside it."""
