/* What programs of the original's distribution include for calls on files by name. Not part of sion.h. */
#ifndef SION_FILE_H
#define SION_FILE_H

#include "sion_libversion_rep.h"

#ifdef __cplusplus
extern "C" {
#endif

int _sion_file_stat_file(const char* fname); /* 1 if the file exists, else 0. Local */

#ifdef __cplusplus
}
#endif
#endif
