/* mpiio/api/front/json: JSON output for the report of `sheaf mpiio`. */
#ifndef SHEAF_FRONT_JSON_H
#define SHEAF_FRONT_JSON_H

#include <stdio.h>

/* Writes the text `begin` and then a member of a JSON object. `value` may hold any bytes; quotes,
 * backslashes and control characters are escaped. */
void put_member(FILE* file, const char* begin, const char* name, const char* value);

#endif
