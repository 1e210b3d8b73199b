/* api/mpiio/front/json: a line of JSON in the report of `sheaf mpiio`. */
#ifndef SHEAF_FRONT_JSON_H
#define SHEAF_FRONT_JSON_H

#include <stdio.h>

/* A member of an object, behind `begin`. `value`: any bytes; quotes, backslashes and control characters are
 * escaped. */
void put_member(FILE* file, const char* begin, const char* name, const char* value);

#endif
