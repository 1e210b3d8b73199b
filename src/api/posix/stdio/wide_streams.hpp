// api/posix/stdio/wide_streams: wide characters on streams of captured files. The C library has none for what
// fopencookie(3) makes, so they are turned into the bytes of the locale here, and read from them. The calls
// that have an `_unlocked` form and the others are the same: all of them lock the stream.
#pragma once

#include <stdio.h>
#include <wchar.h>

#include <functional>

namespace sheaf::posix {

// Whether calls on the stream are ours to answer. What has read or written bytes takes no wide characters;
// any other stream of ours does from now on.
enum class Width { of_the_library, bytes, wide };
Width widen(FILE* stream);

// All below: of streams that were widened.

wint_t get_wide(FILE* stream);
wint_t put_wide(wchar_t c, FILE* stream);
wint_t put_back_wide(wint_t c, FILE* stream);
wchar_t* get_wide_line(wchar_t* room, int n, FILE* stream);
int put_wide_text(const wchar_t* text, FILE* stream);

// Calls a function of the C library that prints to, or scans, the stream it is given; it may be called again,
// with the same bytes and more. Its result.
using OnStream = std::function<int(FILE*)>;
int print_wide(FILE* stream, const OnStream& print);
int scan_wide(FILE* stream, const OnStream& scan);

}  // namespace sheaf::posix
