// Collective calls on striped files: compute task 0 performs the operation, and all tasks return the same
// outcome.
#include <algorithm>
#include <cstdio>
#include <functional>

#include "comm/reduce.hpp"
#include "sfio/api/file.hpp"

using namespace sheaf;
using namespace sheaf::sfio;

namespace {

// Verifies by a hash that all tasks pass the same name and number. Collective. Throws mismatch on all tasks
// if they differ, or the error `wrong` of any task.
void agree_on(Comm& comm, const std::string& name, int64_t number, const std::optional<Error>& wrong) {
  MinMax hashes(static_cast<int64_t>(std::hash<std::string>()(name + '\0' + std::to_string(number))));
  agree(comm, wrong, hashes);
  if (hashes.is_same()) return;
  Error differs(Code::mismatch, "the compute tasks disagree about the name or the number; task " +
                                    std::to_string(comm.rank()) + " says '" + name + "', " +
                                    std::to_string(number));
  if (comm.rank() > 0) differs.set_counted();  // task 0 counts it
  throw differs;
}

void act(Runtime& session, const std::function<void()>& part) {
  std::optional<Error> failed;
  if (session.comm().rank() == 0) failed = attempt(part);
  agree_with(session.comm(), failed, 0);
}

// Returns the name agreed on by all tasks, together with the stripe unit (0: unspecified).
StripeName agreed_name(Runtime& session, const char* name, int stripe_unit = 0) {
  StripeName parsed;
  agree_on(session.comm(), name ? name : "", stripe_unit, attempt([&] {
             if (!name) throw Error(Code::invalid_argument, "no name (NULL)");
             parsed = parse_stripe_name(name);
             if (stripe_unit < 0)
               throw Error(Code::invalid_argument,
                           "a stripe unit of " + std::to_string(stripe_unit) + " bytes");
             if (stripe_unit > 0) parsed.unit = stripe_unit;
           }));
  return parsed;
}

std::unique_ptr<StripedFile> open(Runtime& session, const StripeName& name) {
  std::unique_ptr<StripedFile> file;
  act(session, [&] { file = StripedFile::open(session.link(), name, SubfileOpenMode::create); });
  std::vector<StripedFile::SubfileToken> token(name.subfiles.size());
  if (file) token = file->token();
  session.comm().broadcast(std::as_writable_bytes(std::span(token)), 0);
  if (!file) file = StripedFile::adopt(session.link(), name.given, token);
  return file;
}

// Completes the transfers of a file before its close. Returns the first error, which sfio_wait() also
// reports.
std::optional<Error> finish_transfers(sfio_file& f) {
  std::optional<Error> lost;
  const std::lock_guard hold(f.file->link().lock());
  for (sfio_request* const request : f.under_way) {
    attempt(lost, [&] { request->finish(); });
    request->of = nullptr;
  }
  return lost;
}

// Returns the sum of the error counts of all listeners. Throws if a listener does not answer.
ErrorCounts take_errors(Runtime& session) {
  Link& link = *session.link();
  const std::lock_guard hold(link.lock());
  const auto answers =
      ask(link,
          questions(0, link.listeners().size(),
                    [](size_t listener) {
                      return Question{static_cast<int>(listener), {.kind = RequestKind::errors}};
                    }),
          OnError::kept);
  ErrorCounts sum{};
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].code != 0) report_error("merror", *error_of(link, static_cast<int>(i), answers[i]));
    for (size_t k = 0; k < sum.size() && answers[i].code == 0; ++k) sum[k] += answers[i].values[k];
  }
  return sum;
}

void add(ErrorCounts& sum, const ErrorCounts& counts) {
  for (size_t k = 0; k < sum.size(); ++k) sum[k] += counts[k];
}

ErrorCounts take_errors_together(Runtime& session) {
  ErrorCounts counts{};
  session.comm().barrier();  // the listeners have counted the errors of all tasks
  act(session, [&] { counts = take_errors(session); });
  add(counts, take_refused());
  session.comm().all_sum(counts);
  return counts;
}

void give(const ErrorCounts& counts, unsigned long* ioerr) {
  for (size_t i = 0; ioerr && i < counts.size(); ++i) ioerr[i] = static_cast<unsigned long>(counts[i]);
}

}  // namespace

MFILE* sfio_mopen(const char* name, int stripe_unit) {
  return guarded_together(Counted::open, "mopen", static_cast<MFILE*>(nullptr), [&] {
    Runtime& session = Runtime::required();
    return add_open_file(std::unique_ptr<sfio_file>(
        new sfio_file{session.number(), open(session, agreed_name(session, name, stripe_unit))}));
  });
}

int sfio_mclose(MFILE* f) {
  return guarded_together(Counted::close, "mclose", -1, [&] {
    file_of(f);
    const std::unique_ptr<sfio_file> gone = remove_open_file(f);
    Runtime& session = *Runtime::current();
    std::optional<Error> problem = finish_transfers(*f);
    if (!problem) problem = f->unwritten.problem(f->file->name(), session.comm().rank());
    if (problem) problem->set_counted();  // the write or sfio_wait() has counted it
    const auto lost = attempt([&] { agree(session.comm(), problem); });
    act(session, [&] { f->file->close(); });
    if (lost) throw *lost;
  });
}

int sfio_mchsize(MFILE* f, int64_t size) {
  return guarded_together(Counted::ftruncate, "mchsize", -1, [&] {
    StripedFile& file = file_of(f);
    Runtime& session = *Runtime::current();
    agree_on(session.comm(), file.name(), size, std::nullopt);
    act(session, [&] { file.resize(size); });
    f->unwritten.cut(size);
  });
}

int sfio_mdelete(const char* name) {
  return guarded_together(Counted::unlink, "mdelete", -1, [&] {
    Runtime& session = Runtime::required();
    const StripeName parsed = agreed_name(session, name);
    act(session, [&] {
      if (!remove_striped(*session.link(), parsed))
        throw Error(Code::not_found, "there is no striped file '" + parsed.given + "'", ENOENT);
    });
  });
}

int sfio_mcreate(const char* name) {
  return guarded_together(Counted::creat, "mcreate", -1, [&] {
    Runtime& session = Runtime::required();
    const StripeName parsed = agreed_name(session, name);
    act(session, [&] {
      remove_striped(*session.link(), parsed);
      StripedFile::make_empty(session.link(), parsed);
    });
  });
}

int sfio_merror(unsigned long* ioerr) {
  return guarded(std::nullopt, "merror", -1, [&] {
    ErrorCounts counts = take_errors(Runtime::required());
    add(counts, take_refused());
    give(counts, ioerr);
  });
}

int sfio_merrora(unsigned long* ioerr) {
  return guarded_together(std::nullopt, "merrora", -1,
                          [&] { give(take_errors_together(Runtime::required()), ioerr); });
}

int sfio_prioerrora(void) {
  return guarded(std::nullopt, "prioerrora", -1, [] {
    Runtime& session = Runtime::required();
    const ErrorCounts counts = take_errors_together(session);
    if (session.comm().rank() > 0) return;
    static const char* const names[] = {"open",      "close", "creat", "unlink",
                                        "ftruncate", "lseek", "write", "read"};
    std::printf("I/O errors:");
    for (size_t i = 0; i < counts.size(); ++i)
      std::printf(" %s %lld", names[i], static_cast<long long>(counts[i]));
    std::printf("\n");
    std::fflush(stdout);
  });
}
