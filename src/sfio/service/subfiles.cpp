#include "sfio/service/subfiles.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/assert.hpp"
#include "comm/agree.hpp"
#include "storage/beside.hpp"
#include "storage/filesystem/traits.hpp"

namespace sheaf::sfio {

using format::IdentityState;
using format::StripeIdentity;

namespace {

// Returns `path`. Throws invalid_argument if it is empty or contains NUL. The system cuts a name at a NUL, so
// the name of an identity file would become that of its subfile.
const std::string& checked_name(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos)
    throw Error(Code::invalid_argument, "'" + path + "' is no name of a subfile", EINVAL);
  return path;
}

std::string identity_path(const std::string& path) { return path + std::string(identity_suffix); }

// Throws damaged unless the path is free or the file is_own().
void require_own(const std::string& path, const Looked& found) {
  if (found.data.is_directory) throw os_error("cannot touch", path, EISDIR);
  if (found.is_own()) return;
  const std::string why = !found.has_identity_file ? "there is no '" + identity_path(path) + "'"
                          : found.state == IdentityState::foreign
                              ? "'" + identity_path(path) + "' is no identity"
                              : "'" + identity_path(path) + "' is empty";
  throw file_error(
      Code::damaged, path,
      "is no subfile of a striped file, or has lost its identity: " + why + "; nothing was touched");
}

void check_identity(const std::string& path, const Looked& found, const StripeIdentity& wanted) {
  const auto wrong = [&](const std::string& finding) { throw file_error(Code::mismatch, path, finding); };
  if (!found.has_identity_file)
    throw file_error(Code::damaged, path,
                     "is no subfile of a striped file, or has lost its identity: there is no '" +
                         identity_path(path) + "'");
  if (!found.identity)
    throw file_error(Code::damaged, identity_path(path), "is no identity of a subfile, or damaged");
  const StripeIdentity& is = *found.identity;
  if (is.count != wanted.count)
    wrong("is one of " + std::to_string(is.count) + " subfiles of its striped file, but the name lists " +
          std::to_string(wanted.count));
  if (is.index != wanted.index)
    wrong("is subfile " + std::to_string(is.index) + " of its striped file, but stands as number " +
          std::to_string(wanted.index) + " in the name");
  if (is.unit != 0 && wanted.unit != 0 && is.unit != wanted.unit)
    wrong("has a stripe unit of " + std::to_string(is.unit) + " bytes, not " + std::to_string(wanted.unit));
  if (is.file != wanted.file) wrong("belongs to another striped file than the subfiles before it");
  if (found.data.size < required_size(is))
    throw file_error(Code::damaged, path,
                     "is short: it has " + std::to_string(found.data.size) + " of " +
                         std::to_string(required_size(is)) + " bytes");
}

// Throws unless an open with this mode can use or create the subfile.
void require_openable(const std::string& path, const Looked& found, SubfileOpenMode mode) {
  if (may_create(mode) && found.has_identity_file && !found.data.exists) require_own(path, found);
  if (mode == SubfileOpenMode::fresh && (found.data.exists || found.has_identity_file))
    throw os_error("cannot create", path, EEXIST);
  if (found.data.is_special) throw file_error(Code::invalid_argument, path, "is no regular file");
  if (found.data.exists || (may_create(mode) && (found.can_begin() || found.can_resume()))) return;
  if (!found.has_identity_file) throw os_error("cannot open", path, ENOENT);
  throw file_error(Code::not_found, path, "is missing, a subfile whose identity is still there");
}

}  // namespace

Subfile& Subfiles::at(int64_t handle) {
  const auto found = handles_.find(handle);
  if (found == handles_.end())
    throw Error(Code::invalid_argument, "there is no open subfile with handle " + std::to_string(handle));
  return *found->second;
}

Subfile& Subfiles::writable(int64_t handle) {
  Subfile& subfile = at(handle);
  if (!subfile.writable) throw file_error(Code::wrong_mode, subfile.path, "is open for reading only");
  if (subfile.identity.size != StripeIdentity::open_size)
    set_identity(subfile, &StripeIdentity::size, StripeIdentity::open_size);
  return subfile;
}

Answer Subfiles::dispatch(const Request& request) {
  switch (request.kind) {
    case RequestKind::status:
      return look(checked_name(request.path));
    case RequestKind::open:
      return open(request);
    case RequestKind::commit:
      set_identity(writable(request.handle), &StripeIdentity::complete, request.values[0] != 0);
      return {};
    case RequestKind::size: {
      const FileStatus status = at(request.handle).file->status();
      return {.values = {status.size, status.block_size, status.allocated}};
    }
    case RequestKind::resize: {
      Subfile& subfile = writable(request.handle);
      subfile.size_at_close = 0;
      counted(Counted::ftruncate, [&] { subfile.file->resize(request.values[0]); });
      return {};
    }
    case RequestKind::sync:
      counted(Counted::write, [&] { at(request.handle).file->sync(); });
      return {};
    case RequestKind::remove:
      return remove(checked_name(request.path));
    case RequestKind::rename:
      rename(checked_name(request.path), request.more);
      return {};
    case RequestKind::close:
    case RequestKind::write:
    case RequestKind::read:
    case RequestKind::lock:
    case RequestKind::lock_shared:
    case RequestKind::unlock:
    case RequestKind::errors:
    case RequestKind::disconnect:
      break;
  }
  SHEAF_ASSERT(false);
  return {};
}

void Subfiles::keep_identity(const std::string& path, const StripeIdentity& identity, Access access,
                             bool* opened) {
  const auto file = counted(access == Access::fresh ? Counted::creat : Counted::open, [&] {
    return access == Access::fresh ? make_beside(store_, identity_path(path))
                                   : open_beside(store_, identity_path(path), path);
  });
  if (opened) *opened = true;
  const std::string bytes = to_bytes(identity);
  counted(Counted::write, [&] { file->write_at(std::as_bytes(std::span(bytes)), 0); });
  counted(Counted::close, [&] { file->close(); });
}

template <class Field>
void Subfiles::set_identity(Subfile& subfile, Field StripeIdentity::*field, Field value) {
  StripeIdentity identity = subfile.identity;
  identity.*field = value;
  keep_identity(subfile.path, identity, Access::sidecar);
  subfile.identity = identity;
}

Looked Subfiles::look_at(const std::string& path) {
  Looked found{.data = store_.status(path), .has_identity_file = store_.status(identity_path(path)).exists};
  if (!found.has_identity_file) return found;
  const auto file = counted(Counted::open, [&] { return store_.open(identity_path(path), Access::read); });
  std::array<std::byte, StripeIdentity::bytes> bytes;
  const auto read = std::span(bytes).first(counted(Counted::read, [&] { return file->read_at(bytes, 0); }));
  file->close();
  found.state = format::identity_state(read);
  found.identity = format::stripe_identity_of(read);
  return found;
}

Answer Subfiles::look(const std::string& path) {
  const Looked found = look_at(path);
  Answer answer{.values = {found.data.exists, found.has_identity_file, found.data.size, found.data.block_size,
                           found.data.allocated, found.data.is_directory, found.is_own()}};
  if (found.identity) answer.set_text(to_bytes(*found.identity));
  return answer;
}

// Creates a subfile, or its missing part, and opens it. If that fails, removes everything that it created.
int64_t Subfiles::make(const Request& request, const Looked& found, const StripeIdentity& identity) {
  const std::string& path = request.path;
  Subfile made{.path = path, .identity = identity};
  int64_t handle = 0;
  const auto failed = attempt([&] {
    const auto access = [](bool exists) { return exists ? Access::sidecar : Access::fresh; };
    if (!found.identity)
      keep_identity(path, identity, access(found.has_identity_file),
                    found.has_identity_file ? nullptr : &made.made_identity);
    counted(Counted::creat, [&] {
      const auto file = store_.open(path, access(found.data.exists));
      made.made_data = !found.data.exists;
      file->close();
    });
    Looked now = found;
    now.data.exists = now.has_identity_file = true;
    now.identity = identity;
    handle = share_found(path, now, request);
  });
  if (failed) {
    discard(made);
    throw *failed;
  }
  Subfile& subfile = at(handle);
  subfile.made_data = subfile.made_data || made.made_data;
  subfile.made_identity = subfile.made_identity || made.made_identity;
  return handle;
}

// Removes the files that a failed open has created, unless another user has begun to use them.
void Subfiles::discard(Subfile& subfile) {
  const bool used =
      std::ranges::any_of(handles_, [&](const auto& one) { return one.second->path == subfile.path; });
  if (used || subfile.removed) return;
  if (!subfile.made_data && !subfile.made_identity) return;
  const auto failed = attempt([&] {
    const Looked found = look_at(subfile.path);
    if (found.data.size > 0 || (found.identity && found.identity->file != subfile.identity.file)) return;
    if (subfile.made_data && found.data.exists)
      counted(Counted::unlink, [&] { store_.remove(subfile.path); });
    if (subfile.made_identity && found.has_identity_file)
      counted(Counted::unlink, [&] { store_.remove(identity_path(subfile.path)); });
  });
  left_ = left_ || failed;
}

Answer Subfiles::open(const Request& request) {
  const std::string& path = checked_name(request.path);
  const auto mode = static_cast<SubfileOpenMode>(request.values[0]);
  const Looked found = look_at(path);
  const auto wanted = format::stripe_identity_of(std::as_bytes(std::span(request.more)));
  if (!wanted) throw file_error(Code::invalid_argument, path, "was asked for without an identity");
  require_openable(path, found, mode);
  const bool resumes = found.can_resume();
  const int64_t handle = may_create(mode) && (resumes || found.can_begin())
                             ? make(request, found, resumes ? *found.identity : *wanted)
                             : share_found(path, found, request);
  Answer answer{.values = {handle}};
  answer.set_text(to_bytes(at(handle).identity));
  return answer;
}

int64_t Subfiles::share_found(const std::string& path, const Looked& found, const Request& request) {
  StripeIdentity wanted = *format::stripe_identity_of(std::as_bytes(std::span(request.more)));
  if (request.values[1] != 0 && found.identity) wanted.file = found.identity->file;
  check_identity(path, found, wanted);
  StripeIdentity identity = *found.identity;
  const bool writable = static_cast<SubfileOpenMode>(request.values[0]) != SubfileOpenMode::read;
  if (identity.unit == 0 && wanted.unit != 0 && writable) {
    identity.unit = wanted.unit;
    keep_identity(path, identity, Access::sidecar);
  }
  return share(path, writable, identity);
}

int64_t Subfiles::share(const std::string& path, bool writable, const StripeIdentity& identity) {
  std::weak_ptr<Subfile>& known = in_use_[{path, writable}];
  std::shared_ptr<Subfile> subfile = known.lock();
  if (!subfile || subfile->removed) {
    auto file =
        counted(Counted::open, [&] { return store_.open(path, writable ? Access::write : Access::read); });
    known = subfile = std::make_shared<Subfile>(
        Subfile{.path = path, .file = std::move(file), .identity = identity, .writable = writable});
  }
  if (subfile->identity.unit == 0) subfile->identity.unit = identity.unit;
  handles_[next_handle_] = subfile;
  return next_handle_++;
}

std::shared_ptr<Subfile> Subfiles::release(int64_t handle) {
  at(handle);
  return handles_.extract(handle).mapped();
}

void Subfiles::close(const std::shared_ptr<Subfile>& subfile, int64_t size, bool was_opened) {
  subfile->size_at_close = std::max(subfile->size_at_close, size);
  if (was_opened && size < 0) subfile->size_unknown = true;
  if (was_opened) subfile->kept = true;
  if (subfile.use_count() > 1) return;
  const auto known = in_use_.find({subfile->path, subfile->writable});
  if (known != in_use_.end() && known->second.lock() == subfile) in_use_.erase(known);
  const auto failed = attempt([&] { finish(*subfile); });
  if (!subfile->kept) discard(*subfile);
  if (failed) throw *failed;
}

// Closes a subfile after the close of its last user. Gives the subfile the length that the logical file
// needs, then records the size in the identity.
void Subfiles::finish(Subfile& subfile) {
  const StripeIdentity& identity = subfile.identity;
  const bool has_grown = identity.size == StripeIdentity::open_size || identity.size < subfile.size_at_close;
  if (subfile.writable && !subfile.removed && !subfile.size_unknown && has_grown && identity.unit > 0) {
    const int64_t full =
        layout::Stripes{identity.unit, identity.count}.subfile_size(identity.index, subfile.size_at_close);
    // If every task is its own listener, tasks of other hosts may have written to the subfile.
    if (store_.traits_of(*subfile.file).needs_revalidation()) subfile.file->revalidate();
    if (subfile.file->status().size < full) counted(Counted::ftruncate, [&] { subfile.file->resize(full); });
    set_identity(subfile, &StripeIdentity::size, subfile.size_at_close);
  }
  counted(Counted::close, [&] { subfile.file->close(); });
}

Answer Subfiles::remove(const std::string& path) {
  require_own(path, look_at(path));
  Answer answer;
  for (const std::string& name : {path, identity_path(path)}) {
    if (!store_.status(name).exists) continue;
    answer.values[0] = 1;
    counted(Counted::unlink, [&] { store_.remove(name); });
  }
  for (const auto& [handle, subfile] : handles_)
    if (subfile->path == path) subfile->removed = true;
  return answer;
}

void Subfiles::rename(const std::string& from, const std::string& to) {
  checked_name(to);
  require_own(from, look_at(from));
  require_own(to, look_at(to));
  store_.rename(from, to);
  store_.rename(identity_path(from), identity_path(to));
  for (const auto& [handle, subfile] : handles_)
    if (subfile->path == to) subfile->removed = true;
  for (const bool writable : {false, true}) {
    auto moved = in_use_.extract({from, writable});
    const std::shared_ptr<Subfile> subfile = moved ? moved.mapped().lock() : nullptr;
    if (!subfile || subfile->removed) continue;
    subfile->path = to;
    in_use_[{to, writable}] = subfile;
  }
}

}  // namespace sheaf::sfio
