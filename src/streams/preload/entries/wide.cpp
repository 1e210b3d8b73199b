// streams/preload/entries/wide: the entry points of wide-character calls
// (streams/preload/stdio/wide_streams).
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <wchar.h>

#include "streams/preload/real.hpp"
#include "streams/preload/stdio/streams.hpp"
#include "streams/preload/stdio/wide_streams.hpp"

namespace sheaf::preload {

namespace {

using WideString = const wchar_t*;

namespace next {
constinit Real<wint_t(FILE*)> fgetwc{"fgetwc"}, fgetwc_unlocked{"fgetwc_unlocked"};
constinit Real<wint_t(wchar_t, FILE*)> fputwc{"fputwc"}, fputwc_unlocked{"fputwc_unlocked"};
constinit Real<wchar_t*(wchar_t*, size_t, int, FILE*)> fgetws_chk{"__fgetws_chk"},
    fgetws_unlocked_chk{"__fgetws_unlocked_chk"};
constinit Real<int(FILE*, WideString, va_list)> vfwprintf{"vfwprintf"}, vfwscanf{"vfwscanf"},
    isoc99_vfwscanf{"__isoc99_vfwscanf"}, isoc23_vfwscanf{"__isoc23_vfwscanf"};
constinit Real<int(FILE*, int, WideString, va_list)> vfwprintf_chk{"__vfwprintf_chk"};
}  // namespace next

// Performs a wide-character call: returns ours() for a wide stream of this library, `refused` for a byte
// stream of this library, and library() for all other streams.
template <class Result, class Ours, class Library>
Result answer(FILE* stream, Result refused, Ours&& ours, Library&& library) {
  switch (widen(stream)) {
    case Width::c_library:
      return library();
    case Width::bytes:
      return refused;
    case Width::wide:
      break;
  }
  return ours();
}

wint_t get(FILE* stream, const Real<wint_t(FILE*)>& library) {
  return answer(
      stream, wint_t{WEOF}, [&] { return get_wide(stream); }, library.with(stream));
}

wint_t put(wchar_t c, FILE* stream, const Real<wint_t(wchar_t, FILE*)>& library) {
  return answer(
      stream, wint_t{WEOF}, [&] { return put_wide(c, stream); }, library.with(c, stream));
}

int put_text(WideString text, FILE* stream, const Real<int(WideString, FILE*)>& library) {
  return answer(
      stream, EOF, [&] { return put_wide_text(text, stream); }, library.with(text, stream));
}

template <class Library>
wchar_t* get_line(wchar_t* room, int n, FILE* stream, Library&& library) {
  return answer(
      stream, static_cast<wchar_t*>(nullptr), [&] { return get_wide_line(room, n, stream); }, library);
}

int print(FILE* stream, const OnStream& library) {
  return answer(
      stream, -1, [&] { return print_wide(stream, library); }, [&] { return library(stream); });
}

using Scan = Real<int(FILE*, WideString, va_list)>;

int scan(FILE* stream, WideString format, va_list arguments, const Scan& library) {
  const OnStream one = [&](FILE* from) {
    va_list again;
    va_copy(again, arguments);
    const int result = library(from, format, again);
    va_end(again);
    return result;
  };
  return answer(
      stream, EOF, [&] { return scan_wide(stream, one); }, [&] { return one(stream); });
}

int print_to(FILE* stream, WideString format, va_list arguments) {
  return print(stream, [&](FILE* to) { return next::vfwprintf(to, format, arguments); });
}

int print_checked(FILE* stream, int flag, WideString format, va_list arguments) {
  return print(stream, [&](FILE* to) { return next::vfwprintf_chk(to, flag, format, arguments); });
}

}  // namespace

SHEAF_ENTRY_AND(wint_t, fgetwc, getwc, FILE* stream) { return get(stream, next::fgetwc); }
SHEAF_ENTRY(wint_t, getwchar, void) { return get(stdin, next::fgetwc); }
SHEAF_ENTRY_AND(wint_t, fgetwc_unlocked, getwc_unlocked, FILE* stream) {
  return get(stream, next::fgetwc_unlocked);
}
SHEAF_ENTRY(wint_t, getwchar_unlocked, void) { return get(stdin, next::fgetwc_unlocked); }
SHEAF_ENTRY_AND(wint_t, fputwc, putwc, wchar_t c, FILE* stream) { return put(c, stream, next::fputwc); }
SHEAF_ENTRY(wint_t, putwchar, wchar_t c) { return put(c, stdout, next::fputwc); }
SHEAF_ENTRY_AND(wint_t, fputwc_unlocked, putwc_unlocked, wchar_t c, FILE* stream) {
  return put(c, stream, next::fputwc_unlocked);
}
SHEAF_ENTRY(wint_t, putwchar_unlocked, wchar_t c) { return put(c, stdout, next::fputwc_unlocked); }
SHEAF_REPLACED(wint_t, ungetwc, wint_t c, FILE* stream) {
  return answer(
      stream, wint_t{WEOF}, [&] { return put_back_wide(c, stream); }, next::ungetwc.with(c, stream));
}
SHEAF_REPLACED(wchar_t*, fgetws, wchar_t* room, int n, FILE* stream) {
  return get_line(room, n, stream, next::fgetws.with(room, n, stream));
}
SHEAF_REPLACED(wchar_t*, fgetws_unlocked, wchar_t* room, int n, FILE* stream) {
  return get_line(room, n, stream, next::fgetws_unlocked.with(room, n, stream));
}
// If `n` exceeds the size of `room`, calls the C library, which ends the program.
SHEAF_ENTRY(wchar_t*, __fgetws_chk, wchar_t* room, size_t size, int n, FILE* stream) {
  const auto library = next::fgetws_chk.with(room, size, n, stream);
  return n > 0 && size_t(n) > size ? library() : get_line(room, n, stream, library);
}
SHEAF_ENTRY(wchar_t*, __fgetws_unlocked_chk, wchar_t* room, size_t size, int n, FILE* stream) {
  const auto library = next::fgetws_unlocked_chk.with(room, size, n, stream);
  return n > 0 && size_t(n) > size ? library() : get_line(room, n, stream, library);
}
SHEAF_REPLACED(int, fputws, const wchar_t* text, FILE* stream) {
  return put_text(text, stream, next::fputws);
}
SHEAF_REPLACED(int, fputws_unlocked, const wchar_t* text, FILE* stream) {
  return put_text(text, stream, next::fputws_unlocked);
}
SHEAF_REPLACED(int, fwide, FILE* stream, int mode) {
  return stream->_mode >= 0 || !is_ours(stream) ? next::fwide(stream, mode) : orient_stream(stream, mode);
}
SHEAF_ENTRY(int, vfwprintf, FILE* stream, const wchar_t* format, va_list arguments) {
  return print_to(stream, format, arguments);
}
SHEAF_ENTRY(int, vwprintf, const wchar_t* format, va_list arguments) {
  return print_to(stdout, format, arguments);
}
SHEAF_ENTRY(int, fwprintf, FILE* stream, const wchar_t* format, ...) {
  SHEAF_WITH_ARGUMENTS(format, print_to(stream, format, arguments));
}
SHEAF_ENTRY(int, wprintf, const wchar_t* format, ...) {
  SHEAF_WITH_ARGUMENTS(format, print_to(stdout, format, arguments));
}
SHEAF_ENTRY(int, __vfwprintf_chk, FILE* stream, int flag, const wchar_t* format, va_list arguments) {
  return print_checked(stream, flag, format, arguments);
}
SHEAF_ENTRY(int, __vwprintf_chk, int flag, const wchar_t* format, va_list arguments) {
  return print_checked(stdout, flag, format, arguments);
}
SHEAF_ENTRY(int, __fwprintf_chk, FILE* stream, int flag, const wchar_t* format, ...) {
  SHEAF_WITH_ARGUMENTS(format, print_checked(stream, flag, format, arguments));
}
SHEAF_ENTRY(int, __wprintf_chk, int flag, const wchar_t* format, ...) {
  SHEAF_WITH_ARGUMENTS(format, print_checked(stdout, flag, format, arguments));
}

// Defines the four scan calls; each C standard has its own names for them.
#define SHEAF_SCANS(vf, v, f, plain, library)                                    \
  SHEAF_ENTRY(int, vf, FILE* stream, const wchar_t* format, va_list arguments) { \
    return scan(stream, format, arguments, library);                             \
  }                                                                              \
  SHEAF_ENTRY(int, v, const wchar_t* format, va_list arguments) {                \
    return scan(stdin, format, arguments, library);                              \
  }                                                                              \
  SHEAF_ENTRY(int, f, FILE* stream, const wchar_t* format, ...) {                \
    SHEAF_WITH_ARGUMENTS(format, scan(stream, format, arguments, library));      \
  }                                                                              \
  SHEAF_ENTRY(int, plain, const wchar_t* format, ...) {                          \
    SHEAF_WITH_ARGUMENTS(format, scan(stdin, format, arguments, library));       \
  }

SHEAF_SCANS(vfwscanf, vwscanf, fwscanf, wscanf, next::vfwscanf)
SHEAF_SCANS(__isoc99_vfwscanf, __isoc99_vwscanf, __isoc99_fwscanf, __isoc99_wscanf, next::isoc99_vfwscanf)
SHEAF_SCANS(__isoc23_vfwscanf, __isoc23_vwscanf, __isoc23_fwscanf, __isoc23_wscanf, next::isoc23_vfwscanf)

}  // namespace sheaf::preload
