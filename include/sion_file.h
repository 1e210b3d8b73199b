/* Calls on files by name that programs of the original distribution use. Not part of sion.h. */
#ifndef SION_FILE_H
#define SION_FILE_H

#include "sion_libversion_rep.h"

#ifdef __cplusplus
extern "C" {
#endif

int _sion_file_stat_file(const char* fname); /* 1 if the file exists, else 0; local */

#ifdef __cplusplus
}
#endif
#endif
