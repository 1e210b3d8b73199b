// streams/preload/stdio/wide_streams: wide characters on streams of captured files. The C library does not
// support wide characters on streams of fopencookie(3), so this file converts them to and from the bytes of
// the locale. The `_unlocked` calls lock the stream, too.
#pragma once

#include <stdio.h>
#include <wchar.h>

#include <functional>

namespace sheaf::preload {

enum class Width { c_library, bytes, wide };

// Returns how wide-character calls on the stream must be handled: by the C library if the stream is not one
// of this library, else as on a byte stream or as on a wide one. A stream already used for bytes accepts no
// wide characters. Any other stream of this library becomes wide.
Width widen(FILE* stream);

// All functions below require a widened stream.

wint_t get_wide(FILE* stream);
wint_t put_wide(wchar_t c, FILE* stream);
wint_t put_back_wide(wint_t c, FILE* stream);
wchar_t* get_wide_line(wchar_t* room, int n, FILE* stream);
int put_wide_text(const wchar_t* text, FILE* stream);

// print_wide() and scan_wide() call `print` or `scan` with a stream of the C library instead of `stream`, and
// return its result. `print` and `scan` call a function of the C library on the stream given to them.
// scan_wide() may call `scan` again with the same bytes and more.
using OnStream = std::function<int(FILE*)>;
int print_wide(FILE* stream, const OnStream& print);
int scan_wide(FILE* stream, const OnStream& scan);

}  // namespace sheaf::preload
