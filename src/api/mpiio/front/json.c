#include "json.h"

static void put_text(FILE* file, const char* text) {
  fputc('"', file);
  for (const char* c = text; *c; ++c) {
    if ((unsigned char)*c < 0x20) {
      fprintf(file, "\\u%04x", (unsigned)*c);
      continue;
    }
    if (*c == '"' || *c == '\\') fputc('\\', file);
    fputc(*c, file);
  }
  fputc('"', file);
}

void put_json(FILE* file, const struct json_member* members, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    fputc(i == 0 ? '{' : ',', file);
    put_text(file, members[i].name);
    fputc(':', file);
    put_text(file, members[i].value);
  }
  fputs("}\n", file);
}
