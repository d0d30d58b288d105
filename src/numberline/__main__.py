"""`python -m numberline` is the command line."""

from numberline.cli import main

if __name__ == "__main__":
    main()
