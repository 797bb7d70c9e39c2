#!/usr/bin/env python3
"""Writes days of clicks: a directory for each day, which a file _SUCCESS closes.

    examples/daily/produce.py --directory out/daily-data --days 8

A day that is there is left as it is. Each row is a pure function of its day and its number.
"""
import argparse
import datetime
import math
import os
import random

COLUMNS = "click,hour,price,user,item,campaign"
FIRST_DAY = datetime.date(2026, 1, 1)


def write_day(directory, day, rows):
    numbers = random.Random(day)
    lines = [COLUMNS]
    for row in range(rows):
        user = numbers.randrange(1000)
        # New items come every day, and old ones lose their readers.
        item = day * 50 + int(numbers.paretovariate(1.0)) % 300
        campaign = numbers.randrange(20)
        hour = row * 24 // rows
        price = round(math.exp(numbers.gauss(1, 1)), 2)
        # What there is to learn.
        score = ((user * 7919 % 31) / 10 + (item * 104729 % 17) / 8 + campaign % 5 / 3 - 4.2
                 + math.sin(hour / 24 * 2 * math.pi) / 2 - math.log1p(price) / 4)
        click = int(numbers.random() < 1 / (1 + math.exp(-1.6 * score)))
        lines.append(f"{click},{hour},{price},{user},{item},{campaign}")
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "clicks.csv"), "w") as file:
        file.write("\n".join(lines) + "\n")
    open(os.path.join(directory, "_SUCCESS"), "w").close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", default="out/daily-data")
    parser.add_argument("--days", type=int, default=8)
    parser.add_argument("--rows", type=int, default=10000, help="of each day")
    options = parser.parse_args()
    for day in range(options.days):
        date = FIRST_DAY + datetime.timedelta(days=day)
        directory = os.path.join(options.directory, f"dt={date:%Y%m%d}")
        if not os.path.exists(os.path.join(directory, "_SUCCESS")):
            write_day(directory, day, options.rows)


if __name__ == "__main__":
    main()
