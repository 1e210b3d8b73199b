// streams/preload/stdio/wide_streams: wide characters on streams of captured files. The C library does not
// support them on streams of fopencookie(3), so they are converted here to and from the bytes of the locale.
// The
// `_unlocked` calls equal the others: all lock the stream.
#pragma once

#include <stdio.h>
#include <wchar.h>

#include <functional>

namespace sheaf::posix {

// Returns how wide-character calls on the stream must be handled. A stream already used for bytes accepts no
// wide characters. Any other stream of this library becomes wide.
enum class Width { of_the_library, bytes, wide };
Width widen(FILE* stream);

// All functions below require a widened stream.

wint_t get_wide(FILE* stream);
wint_t put_wide(wchar_t c, FILE* stream);
wint_t put_back_wide(wint_t c, FILE* stream);
wchar_t* get_wide_line(wchar_t* room, int n, FILE* stream);
int put_wide_text(const wchar_t* text, FILE* stream);

// Calls a function of the C library that prints to, or scans from, the given stream, and returns its result.
// The function may be called again with the same bytes and more.
using OnStream = std::function<int(FILE*)>;
int print_wide(FILE* stream, const OnStream& print);
int scan_wide(FILE* stream, const OnStream& scan);

}  // namespace sheaf::posix
