"""``python -m isoscope`` is the command ``isoscope``, also where no script was installed."""

from isoscope.cli.app import main

if __name__ == "__main__":
    main()
