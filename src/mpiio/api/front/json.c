#include "json.h"

void put_member(FILE* file, const char* begin, const char* name, const char* value) {
  fprintf(file, "%s\"%s\":\"", begin, name);
  for (const char* c = value; *c; ++c) {
    if ((unsigned char)*c < 0x20) {
      fprintf(file, "\\u%04x", (unsigned)*c);
      continue;
    }
    if (*c == '"' || *c == '\\') fputc('\\', file);
    fputc(*c, file);
  }
  fputc('"', file);
}
