#include "cases.h"

#include <locale.h>
#include <wchar.h>

static void printing(void) {
  FILE* const file = fopen("cap.w", "w");
  CALL(fwide(file, 0));
  CALL(fwide(file, 1));
  CALL(fputwc(L'\u00e4', file));
  CALL(fputws(L"Z\u00fcrich \u20ac\n", file));
  CALL(fwprintf(file, L"%d %ls %s %.3f\n", 42, L"\u0436", "bytes", 1.5));
  CALL(putwc(L'\U0001f600', file));
  CALL(ftell(file));
  CALL(fseek(file, 0, SEEK_SET));
  CALL(fputwc(L'\u00f6', file));
  CALL(fseek(file, 0, SEEK_END));
  CALL(fputwc((wchar_t)0x7fffffff, file));
  CALL(ferror(file) != 0);
  CALL(fclose(file));
  show("cap.w");
}

static void scanning(void) {
  wchar_t line[40] = L"", word[40] = L"";
  char bytes[40] = "";
  int number = 0;
  float real = 0;
  FILE* const file = fopen("cap.w", "r");
  CALL(fgetwc(file));
  CALL(fwide(file, 0));
  CALL(fgetws(line, 4, file) ? (int)wcslen(line) : -1);
  VALUE(line[1]);
  CALL(fgetws(line, 40, file) ? (int)wcslen(line) : -1);
  VALUE(line[4]);
  CALL(ftell(file));
  CALL(fwscanf(file, L"%d %ls %s %f", &number, word, bytes, &real));
  VALUE(number);
  VALUE(word[0]);
  VALUE((int)(real * 10));
  printf("  %s\n", bytes);
  CALL(ftell(file));
  CALL(fwscanf(file, L"%d", &number));
  CALL(ftell(file));
  CALL(fgetwc(file));
  CALL(fgetwc(file));
  CALL(feof(file) != 0);
  CALL(fwscanf(file, L"%d", &number));
  rewind(file);
  CALL(fgetwc(file));
  CALL(ungetwc(L'\u00e9', file));
  CALL(getwc(file));
  CALL(getwc(file));
  CALL(fclose(file));
}

static void long_lines(void) {
  static wchar_t text[20001], again[20001];
  for (int i = 0; i < 20000; ++i) text[i] = i % 3 == 0 ? L'\u00e9' : L'x';
  FILE* const file = fopen("cap.w", "w+");
  CALL(fwprintf(file, L"%ls", text));
  CALL(fputws(L" 17 ", file));
  rewind(file);
  int number = 0;
  CALL(fwscanf(file, L"%ls %d", again, &number));
  VALUE(wcscmp(text, again));
  VALUE(number);
  CALL(ftell(file));
  CALL(fclose(file));
}

static void wrong(void) {
  FILE* file = fopen("cap.w", "w");
  CALL(fputs("bytes", file));
  CALL(fwide(file, 1) < 0);
  CALL(fputwc(L'x', file));
  CALL(fputws(L"x", file));
  CALL(fwprintf(file, L"x"));
  CALL(fclose(file));
  file = fopen("cap.w", "w");
  fwrite(
      "a\xff"
      "b",
      1, 3, file);
  CALL(fclose(file));
  file = fopen("cap.w", "r");
  CALL(fgetwc(file));
  CALL(fgetwc(file));
  CALL(ferror(file) != 0);
  CALL(fclose(file));
  file = fopen("cap.w", "r");
  CALL(fputwc(L'x', file));
  CALL(fclose(file));
  file = fopen("cap.w", "a");
  CALL(setvbuf(file, NULL, _IONBF, 0));
  CALL(fputws(L"\u00df", file));
  show("cap.w");
  CALL(fclose(file));
  CALL(unlink("cap.w"));
}

void cases_wide(void) {
  setlocale(LC_ALL, "C.UTF-8");
  printing();
  scanning();
  long_lines();
  wrong();
  setlocale(LC_ALL, "C");
}
