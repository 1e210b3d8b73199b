/* Defines the platform macros that client code expects. */
#ifndef SION_PLATFORM_H
#define SION_PLATFORM_H

#if defined(__linux__) && !defined(_SION_LINUX)
#define _SION_LINUX
#endif
#if defined(__APPLE__) && !defined(_SION_DARWIN)
#define _SION_DARWIN
#endif

#endif
