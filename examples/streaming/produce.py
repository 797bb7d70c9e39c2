#!/usr/bin/env python3
"""Drops files of clicks into a directory, one every few seconds, and at last the end marker.

    examples/streaming/produce.py --directory out/streaming-data --files 10 --seconds 1

Each file is written under a hidden name and renamed when it is whole, so a job that watches the
directory never sees half of one. Started again, it goes on after the last file that is there.
"""
import argparse
import math
import os
import random
import time

COLUMNS = "event,click,hour,user,item"


def write_file(directory, number, rows):
    random_numbers = random.Random(number)
    lines = [COLUMNS]
    for row in range(rows):
        user = random_numbers.randrange(2000)
        item = int(random_numbers.paretovariate(1.0)) % 500
        hour = number % 24
        # What there is to learn: some users click more, some items are clicked more.
        score = (user * 7919 % 31) / 10 - 1.5 + (item * 104729 % 17) / 8 - 2 + math.sin(hour) / 4
        click = int(random_numbers.random() < 1 / (1 + math.exp(-score)))
        lines.append(f"{number * rows + row},{click},{hour},{user},{item}")
    name = f"clicks-{number:06d}.csv"
    hidden = os.path.join(directory, "." + name)
    with open(hidden, "w") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.rename(hidden, os.path.join(directory, name))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", default="out/streaming-data")
    parser.add_argument("--files", type=int, default=10, help="how many there are to be in all")
    parser.add_argument("--rows", type=int, default=20000, help="of each file")
    parser.add_argument("--seconds", type=float, default=1, help="between two files")
    parser.add_argument("--no_end", action="store_true", help="write no end marker")
    options = parser.parse_args()
    os.makedirs(options.directory, exist_ok=True)
    for number in range(options.files):
        if os.path.exists(os.path.join(options.directory, f"clicks-{number:06d}.csv")):
            continue
        write_file(options.directory, number, options.rows)
        print(f"clicks-{number:06d}.csv", flush=True)
        if number + 1 < options.files:
            time.sleep(options.seconds)
    if not options.no_end:
        open(os.path.join(options.directory, "_END"), "w").close()


if __name__ == "__main__":
    main()
