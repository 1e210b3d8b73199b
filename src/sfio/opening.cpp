// Queries the subfiles of a name, and opens, renames and removes them.
#include <algorithm>
#include <map>

#include "base/os/random.hpp"
#include "comm/agree.hpp"
#include "sfio/striped_file.hpp"

namespace sheaf::sfio {

using format::StripeIdentity;

namespace {

std::vector<int> listeners_of(Link& link, const StripeName& name) {
  std::vector<int> listeners;
  std::map<std::string, int> seen;
  for (const SubfilePlace& place : name.subfiles)
    listeners.push_back(link.find(place.host, seen[place.host]++));
  return listeners;
}

std::string place_of(const Link& link, const StripeName& name, size_t i, int listener) {
  return "'" + name.subfiles[i].path + "' on I/O listener '" +
         link.listeners()[static_cast<size_t>(listener)].name + "'";
}

// Returns true if all subfiles exist, all are missing, or the file is being created. Otherwise another task
// may be creating it at this moment, so the caller queries again a few times.
bool is_settled(const std::vector<FoundSubfile>& found) {
  const auto missing = std::ranges::count_if(found, [](const FoundSubfile& f) { return !f.exists; });
  if (missing == 0 || missing == std::ssize(found)) return true;
  return found[0].identity && !found[0].identity->complete;
}

}  // namespace

std::vector<FoundSubfile> look(Link& link, const StripeName& name) {
  const std::vector<int> listeners = listeners_of(link, name);
  const std::vector<Answer> answers =
      ask(link, questions(0, listeners.size(), [&](size_t i) {
            return Question{listeners[i], {.kind = RequestKind::status, .path = name.subfiles[i].path}};
          }));
  std::vector<FoundSubfile> found;
  for (size_t i = 0; i < answers.size(); ++i) {
    const auto& v = answers[i].values;
    found.push_back({listeners[i], v[0] != 0, v[1] != 0, v[2], v[3], v[4], v[5] != 0, v[6] != 0,
                     format::stripe_identity_of(std::as_bytes(std::span(answers[i].words())))});
  }
  return found;
}

int64_t logical_size(const layout::Stripes& stripes, std::span<const int64_t> subfile_sizes) {
  int64_t size = 0;
  for (size_t i = 0; i < subfile_sizes.size(); ++i)
    size = std::max(size, stripes.logical_size(static_cast<int64_t>(i), subfile_sizes[i]));
  return size;
}

namespace {

// Returns the state of the subfiles once it is settled. Throws unless an open with this mode can use or
// create all of them.
std::vector<FoundSubfile> find_openable(Link& link, const StripeName& name, SubfileOpenMode mode) {
  std::vector<FoundSubfile> found = look(link, name);
  if (found[0].is_directory) throw os_error("cannot open", name.given, EISDIR);
  for (int tries = 0; tries < 3 && !is_settled(found); ++tries) {
    link.back_off(1e-3);
    found = look(link, name);
  }
  const auto missing = std::ranges::find(found, false, &FoundSubfile::exists);
  if (std::ranges::none_of(found, &FoundSubfile::exists)) {
    if (may_create(mode)) return found;
    throw Error(Code::not_found, "there is no striped file '" + name.given + "'", ENOENT);
  }
  if (mode == SubfileOpenMode::fresh) throw os_error("cannot create", name.given, EEXIST);
  if (missing == found.end() || (may_create(mode) && is_settled(found))) return found;
  const auto number = static_cast<size_t>(missing - found.begin());
  throw Error(Code::not_found,
              "subfile " + std::to_string(number) + " is missing: there is no " +
                  place_of(link, name, number, missing->listener) + ", but other subfiles of '" + name.given +
                  "' exist",
              ENOENT);
}

}  // namespace

void StripedFile::make_empty(const std::shared_ptr<Link>& link, const StripeName& name) {
  open(link, name, SubfileOpenMode::fresh, 0)->close();
}

std::unique_ptr<StripedFile> StripedFile::open(const std::shared_ptr<Link>& link, const StripeName& name,
                                               SubfileOpenMode mode, int64_t unit_of_new) {
  const std::lock_guard hold(link->lock());
  const std::vector<FoundSubfile> found = find_openable(*link, name, mode);
  std::unique_ptr<StripedFile> file(new StripedFile(link, name.given));
  file->stripes_ = {name.unit, std::ssize(name.subfiles)};
  if (file->stripes_.unit == 0 && found[0].identity) file->stripes_.unit = found[0].identity->unit;
  if (file->stripes_.unit == 0) file->stripes_.unit = unit_of_new;
  if (file->stripes_.unit != 0) check_stripes(file->stripes_);
  FailedOpenFate state = FailedOpenFate::removed;
  if (const auto failed = attempt([&] { file->ask_for_all(name, mode, found, state); })) {
    file->give_up(state);
    throw *failed;
  }
  return file;
}

namespace {

// Returns true if the listener has answered and no file that it created is left.
bool left_nothing(const Answer& answer) {
  return answer.code == 0 ? answer.values[0] == 0 : answer.values[0] == 0 && answer.values[1] == 1;
}

}  // namespace

// Closes the open subfiles after a failed open and lets the listeners remove the created ones. Handles
// subfile 0 last, because the file exists as long as it does.
void StripedFile::give_up(FailedOpenFate state) {
  const auto close = [](const SubfileHandle& subfile, bool goes) {
    return about(subfile, RequestKind::close, {-1, goes});
  };
  if (subfiles_.empty()) return;
  const auto answers =
      ask(*link_,
          questions(1, subfiles_.size(),
                    [&](size_t i) { return close(subfiles_[i], state != FailedOpenFate::kept); }),
          OnError::kept);
  const bool all_gone = std::ranges::all_of(answers, left_nothing);
  ask(*link_, {close(subfiles_[0], state == FailedOpenFate::removed && all_gone)}, OnError::kept);
  subfiles_.clear();
}

// Opens subfile 0 first, which determines the identity of the file, then all others at once.
void StripedFile::ask_for_all(const StripeName& name, SubfileOpenMode mode,
                              const std::vector<FoundSubfile>& found, FailedOpenFate& state) {
  StripeIdentity identity{.file = {random_number(), random_number()},
                          .unit = stripes_.unit,
                          .count = static_cast<int32_t>(stripes_.count)};
  const auto question = [&](size_t i) {
    const SubfileOpenMode how = mode == SubfileOpenMode::fresh && i > 0 ? SubfileOpenMode::create : mode;
    identity.index = static_cast<int32_t>(i);
    return Question{found[i].listener,
                    {.kind = RequestKind::open,
                     .values = {static_cast<int64_t>(how), i == 0},
                     .path = name.subfiles[i].path,
                     .more = to_bytes(identity)}};
  };
  const auto take = [&](size_t i, const Answer& answer) {
    if (answer.code == 0) subfiles_.push_back({found[i].listener, answer.values[0], name.subfiles[i].path});
  };
  const Answer first = ask(*link_, {question(0)})[0];
  take(0, first);
  const auto made = format::stripe_identity_of(std::as_bytes(std::span(first.words())));
  if (!made) throw Error(Code::damaged, "an I/O listener answered without an identity");
  identity.file = made->file;
  const std::vector<Answer> answers = ask(*link_, questions(1, found.size(), question), OnError::kept);
  std::optional<Error> failed;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!failed) failed = error_of(*link_, found[i + 1].listener, answers[i]);
    if (answers[i].code != 0 && !left_nothing(answers[i])) state = FailedOpenFate::partial;
    take(i + 1, answers[i]);
  }
  if (failed) throw *failed;
  if (made->complete || mode == SubfileOpenMode::read) return;
  // Commits subfile 0 last: while it is incomplete, other subfiles may be missing.
  ask(*link_, questions(1, subfiles_.size(),
                        [&](size_t i) { return about(subfiles_[i], RequestKind::commit, {true}); }));
  const auto uncommitted = attempt([&] { ask(*link_, {about(subfiles_[0], RequestKind::commit, {true})}); });
  if (!uncommitted) return;
  // The commit of subfile 0 may have taken effect although it failed. If it cannot be undone, the file is
  // complete and stays.
  if (attempt([&] { ask(*link_, {about(subfiles_[0], RequestKind::commit, {false})}); }))
    state = FailedOpenFate::kept;
  throw *uncommitted;
}

namespace {

// Throws damaged, before any change, if one of the files of a name is not a subfile.
void require_own(Link& link, const StripeName& name) {
  const std::vector<FoundSubfile> found = look(link, name);
  for (size_t i = 0; i < found.size(); ++i)
    if (!found[i].is_own)
      throw Error(
          Code::damaged,
          place_of(link, name, i, found[i].listener) +
              " is no subfile of a striped file, or has lost its identity (.sfio); nothing was changed");
}

}  // namespace

void rename_striped(Link& link, const StripeName& from, const StripeName& to) {
  const std::lock_guard hold(link.lock());
  const std::vector<int> listeners = listeners_of(link, from);
  if (listeners != listeners_of(link, to))
    throw Error(Code::invalid_argument,
                "cannot rename '" + from.given + "' to '" + to.given + "': the hosts differ");
  require_own(link, from);
  require_own(link, to);
  ask(link, questions(0, listeners.size(), [&](size_t i) {
        return Question{
            listeners[i],
            {.kind = RequestKind::rename, .path = from.subfiles[i].path, .more = to.subfiles[i].path}};
      }));
}

bool remove_striped(Link& link, const StripeName& name) {
  const std::lock_guard hold(link.lock());
  const std::vector<int> listeners = listeners_of(link, name);
  require_own(link, name);
  // Removes subfile 0 last: while it exists, the file counts as damaged, not as missing.
  const auto question = [&](size_t i) {
    return Question{listeners[i], {.kind = RequestKind::remove, .path = name.subfiles[i].path}};
  };
  std::vector<Answer> answers = ask(link, questions(1, listeners.size(), question));
  answers.push_back(ask(link, {question(0)})[0]);
  return std::ranges::any_of(answers, [](const Answer& a) { return a.values[0] != 0; });
}

}  // namespace sheaf::sfio
