# SPDX-License-Identifier: MIT
"""One way to fail, the same as the driver's: one line on stderr, "wanted ..., found ...: do ...", exit status 2."""

import argparse
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def short(path):
    """The path from here if it lies below here."""
    relative = os.path.relpath(path)
    return os.path.abspath(path) if relative.startswith("..") else relative


class UserError(Exception):
    """Something that the person at the keyboard can set right."""


class Parser(argparse.ArgumentParser):
    """Complains like everything else here; call it within enter()."""

    def __init__(self, description):
        super().__init__(description=description, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message):
        raise UserError(f"wanted arguments as --help has them, found '{message}': correct them")


def complain(error):
    print(f"{os.path.basename(sys.argv[0])}: {error}", file=sys.stderr)


def enter(main):
    """Runs main(); its result is the exit status."""
    name = os.path.basename(sys.argv[0])
    try:
        status = main()
    except UserError as error:
        complain(error)
        status = 2
    except (OSError, json.JSONDecodeError) as error:
        # A folder that cannot be written, a full disk, a results file that something else has spoilt.
        if isinstance(error, BrokenPipeError):
            # Whoever read us (head, less) has left. Python would complain once more when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        print(f"{name}: wanted to read and write the results, found '{error}': mend that, or name another --results",
              file=sys.stderr)
        status = 2
    except KeyboardInterrupt:
        print(f"\n{name}: interrupted; the same command goes on from here", file=sys.stderr)
        status = 130
    sys.exit(status)
