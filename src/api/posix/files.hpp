// api/posix/files: captured files as names and as open files: what open, stat, unlink, rename and their kin
// do with them. Every function is called inside, and returns 0 or an errno unless it says otherwise.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <optional>

#include "api/posix/descriptors.hpp"
#include "api/posix/names/places.hpp"

namespace sheaf::posix {

// What becomes of a call that names a captured place: answered here, or handed to the C library, because
// there is a plain file, or no file, or the set cannot take one.
inline constexpr int hand_on = -2;

// open(2): a descriptor, -1 with errno, or hand_on.
int open_captured(const Place& place, int flags, mode_t mode) noexcept;

// Another descriptor with an open file of its own for the stream of `file`, as open_captured.
int open_same(OpenFile& file, int flags) noexcept;

// Whether the process may make names in its directory, and remove them there.
bool may_change_in(const Place& place) noexcept;

// The stream of an open file for who may write to it, whatever the file is open for. Throws.
std::shared_ptr<ContainerStream> stream_for_writing(OpenFile& file);

// Whether a plain file, link or directory of that name is there, or something keeps us from knowing.
bool plain_there(const Place& place) noexcept;

// The stream of that name; null: there is none, or no set.
std::shared_ptr<ContainerStream> stream_at(const Place& place, bool write) noexcept;
std::optional<StreamStatus> status_at(const Place& place) noexcept;

// stat(2) of the two.
void fill(struct stat& status, const StreamStatus& found, dev_t device) noexcept;
int stat_open(OpenFile& file, struct stat& status) noexcept;

// Whether the process may do what `access` (R_OK, W_OK, X_OK together) says, as the permissions and its
// effective user decide.
bool permitted(const StreamStatus& status, int access) noexcept;

// The mask of the process. What umask(2) was given last, seen by our own.
mode_t current_umask() noexcept;
void note_umask(mode_t mask) noexcept;

// What this process has written is there for other hosts.
void flush_written() noexcept;
// The process is about to end: the same, and slots are given back. What is written afterwards still arrives.
void end_of_process() noexcept;
// Finds captured files among the descriptors of a process that begins. counted: it counts as a holder of them
// already, because it is the one that has called exec.
void adopt_inherited(bool counted) noexcept;

// After an error of what the library does by itself: where it met the limit of RLIMIT_FSIZE, the program gets
// no signal for that.
void forget_limit(int error) noexcept;

// Once for each rule: why a file of it is made as a plain file.
void warn_plain(const Place& place, int error) noexcept;

}  // namespace sheaf::posix
