#include "stand_in.h"

#include <stdio.h>
#include <string.h>

static const char* const same[][2] = {{"PMPI_File_toint", "PMPI_File_c2f"},
                                      {"PMPI_File_c2f", "PMPI_File_toint"},
                                      {"PMPI_File_fromint", "PMPI_File_f2c"},
                                      {"PMPI_File_f2c", "PMPI_File_fromint"}};

static int ends_in_c(const char* name) {
  const size_t length = strlen(name);
  return length > 2 && strcmp(name + length - 2, "_c") == 0;
}

struct stand_in stand_in_of(const char* name) {
  struct stand_in found = {"", -1};
  for (size_t i = 0; i < sizeof same / sizeof *same; ++i)
    if (strcmp(name, same[i][0]) == 0) snprintf(found.name, sizeof found.name, "%s", same[i][1]);
  /* MPI_Register_datarep_c has no replacement, because the program's callbacks for it use large counts. */
  if (!ends_in_c(name) || strcmp(name, "PMPI_Register_datarep_c") == 0) return found;
  snprintf(found.name, sizeof found.name, "%.*s", (int)(strlen(name) - 2), name);
  /* The arguments of the other functions are (file, buffer, count, ...) or (file, offset, buffer, count,
   * ...). An extent is a word in both forms, so its function needs no check. */
  if (strcmp(name, "PMPI_File_get_type_extent_c") != 0) found.count = strstr(name, "_at_") ? 3 : 2;
  return found;
}

word unsupported_operation(const char* interface) {
  static const struct {
    const char* interface;
    word code;
  } codes[] = {{"openmpi", 52}, {"mpich", 44}, {"abi", 55}};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; ++i)
    if (strcmp(interface, codes[i].interface) == 0) return codes[i].code;
  return 16;
}
