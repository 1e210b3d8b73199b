// streams/preload/files: operations on captured files by name and by open file: open, stat, unlink, rename
// and related calls. All functions must be called within an Inside (streams/preload/inside.hpp). They return
// 0 or an errno unless stated otherwise.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <optional>

#include "streams/preload/descriptors.hpp"
#include "streams/preload/names/places.hpp"

namespace sheaf::preload {

// Result that asks the caller to pass the call to the C library. The reason is that the name is a plain file
// or no file, or that the set cannot store the file.
inline constexpr int hand_on = -2;

// open(2). Returns a descriptor, -1 with errno, or hand_on.
int open_captured(const Place& place, int flags, mode_t mode) noexcept;

// Opens another descriptor with its own open file for the stream of `file`. Returns a descriptor, or -1 with
// errno.
int open_same(OpenFile& file, int flags) noexcept;

// Makes `file` the open file of the stream of `slot`, which it owns from then on. Returns 0 or an errno;
// ENOENT if the stream does not exist.
int open_slot(OpenFile& file, Slot* slot) noexcept;

// Returns whether the process may create and remove names in the directory of `place`.
bool may_change_in(const Place& place) noexcept;

// Returns the stream of an open file for a caller with write permission, regardless of the access mode of the
// file. Throws.
std::shared_ptr<streams::ContainerStream> stream_for_writing(OpenFile& file);

// Returns whether a plain file, link or directory of that name exists; also true if this cannot be
// determined.
bool plain_there(const Place& place) noexcept;

// Returns the stream of that name; null if the stream or its set does not exist.
std::shared_ptr<streams::ContainerStream> stream_at(const Place& place, bool write) noexcept;
std::optional<streams::StreamStatus> status_at(const Place& place) noexcept;

// stat(2) for a stream status.
void fill(struct stat& status, const streams::StreamStatus& found, dev_t device) noexcept;

// Returns whether the permissions grant `access` (R_OK, W_OK, X_OK combined) to the effective user of the
// process.
bool permitted(const streams::StreamStatus& status, int access) noexcept;

// Records a value that the program has passed to umask(2), for files to be created.
void note_umask(mode_t mask) noexcept;

// Publishes the data written by this process to other hosts.
void flush_written() noexcept;
// Publishes all written data and releases the slots at the end of the process. Destructors that run later can
// still write to their files.
void end_of_process() noexcept;
// Registers the captured files among the descriptors of a starting process. `counted`: the process already
// counts as a holder of their slots, because the same process has called exec.
void adopt_inherited(bool counted) noexcept;

// Discards the pending SIGXFSZ if `error` is EFBIG. Called after a failed operation that the library started
// by itself, so that the program does not receive the signal.
void forget_limit(int error) noexcept;

// Warns, once for each rule, that files of the rule are created as plain files, and why.
void warn_plain(const Place& place, int error) noexcept;

}  // namespace sheaf::preload
