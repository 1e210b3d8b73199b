#!/usr/bin/env python3
"""Draws how the streams of four tasks become one file: docs/figures/streams.py writes streams.svg beside itself."""

from pathlib import Path

WIDTH, HEIGHT = 860, 336
TASKS = 4
CHUNK, GAP = 84, 4                 # width of a chunk in the file, space between two chunks
HEADER, TABLE = 52, 52             # widths of the metadata at both ends of the file
FILE_Y, FILE_HEIGHT = 184, 40
STREAM_CHUNK = 72                  # width of one chunk's bytes, drawn as a part of a stream
# Bytes of each task in its first and second chunk, as a share of a chunk.
FILLED = ((1.0, 0.35), (0.7, 0.0), (1.0, 0.8), (0.5, 0.0))

STYLE = """
  text { font: 13px sans-serif; fill: #24292f; }
  .small { font-size: 11.5px; }
  .code { font-family: monospace; }
  .middle { text-anchor: middle; }
  .frame { fill: none; stroke: #8c959f; }
  .meta { fill: #d0d7de; stroke: #8c959f; }
  .line { fill: none; stroke: #8c959f; stroke-width: 1.2; }
  .tip { fill: #8c959f; }
  .t0 { fill: #4c8bf5; } .t1 { fill: #e69f00; } .t2 { fill: #2a9d6f; } .t3 { fill: #c25aa5; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .frame, .line { stroke: #8b949e; }
    .meta { fill: #30363d; stroke: #8b949e; }
    .tip { fill: #8b949e; }
  }
"""


def text(x, y, words, classes=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{classes}">{words}</text>'


def rectangle(x, y, width, height, classes):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{classes}"/>'


def arrow(x0, y0, x1, y1):
    middle = (y0 + y1) / 2
    path = f'<path d="M{x0:.1f} {y0:.1f} C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1 - 6:.1f}" class="line"/>'
    return path + f'<path d="M{x1 - 4:.1f} {y1 - 7:.1f} h8 l-4 7 z" class="tip"/>'


def brace(x, y, width, words):
    line = f'<path d="M{x:.1f} {y:.1f} v6 h{width:.1f} v-6" class="line"/>'
    return line + text(x + width / 2, y + 21, words, "small middle")


def chunk_x(left, block, task):
    return left + HEADER + GAP + (block * TASKS + task) * (CHUNK + GAP)


def draw():
    length = HEADER + TABLE + GAP + 2 * TASKS * (CHUNK + GAP)
    left = (WIDTH - length) / 2
    parts = [text(left, 22, "Each task writes a stream, as if it had a file of its own.")]
    step = length / TASKS
    for task, shares in enumerate(FILLED):
        x = left + task * step + 10
        parts.append(text(x, 56, f"task {task}"))
        parts.append(rectangle(x + 48, 43, max(sum(shares) * STREAM_CHUNK, 1), 18, f"t{task}"))
        for block, share in enumerate(shares):
            if share:
                start = x + 48 + (block + share / 2) * STREAM_CHUNK
                parts.append(arrow(start, 65, chunk_x(left, block, task) + CHUNK / 2, FILE_Y - 4))
    parts.append(text(left, FILE_Y - 16, "data.sion", "code"))
    parts.append(rectangle(left, FILE_Y, HEADER, FILE_HEIGHT, "meta"))
    parts.append(text(left + HEADER / 2, FILE_Y + 24, "header", "small middle"))
    for block in range(2):
        for task, shares in enumerate(FILLED):
            x = chunk_x(left, block, task)
            parts.append(rectangle(x, FILE_Y, shares[block] * CHUNK, FILE_HEIGHT, f"t{task}"))
            parts.append(rectangle(x, FILE_Y, CHUNK, FILE_HEIGHT, "frame"))
        parts.append(brace(chunk_x(left, block, 0), FILE_Y + FILE_HEIGHT + 6, TASKS * (CHUNK + GAP) - GAP,
                           f"block {block}: one chunk per task"))
    x = chunk_x(left, 2, 0)
    parts.append(rectangle(x, FILE_Y, TABLE, FILE_HEIGHT, "meta"))
    parts.append(text(x + TABLE / 2, FILE_Y + 24, "sizes", "small middle"))
    parts.append(text(left, 284, "Chunks of different tasks share no block of the file system. Unused parts of chunks take no space."))
    parts.append(text(left, 304, "A stream that outgrows its chunk continues in the next block."))
    parts.append(text(left, 324, "Any number of tasks, serial programs, tools and mounts read the streams back."))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">\n'
            f"<title>Streams of four tasks in one file</title>\n<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n")


if __name__ == "__main__":
    Path(__file__).with_name("streams.svg").write_text(draw())
