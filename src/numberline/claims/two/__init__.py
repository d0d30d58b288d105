"""The claims about two numbers, one file each."""
