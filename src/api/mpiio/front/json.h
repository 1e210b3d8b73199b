/* api/mpiio/front/json: a line of JSON in the report of `sheaf mpiio`. */
#ifndef SHEAF_FRONT_JSON_H
#define SHEAF_FRONT_JSON_H

#include <stddef.h>
#include <stdio.h>

struct json_member {
  const char* name;
  const char* value; /* any bytes: quotes, backslashes and control characters are escaped */
};

/* An object with these members, and the end of the line. */
void put_json(FILE* file, const struct json_member* members, size_t count);

#endif
