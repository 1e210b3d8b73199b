#include "cli/stripe/stripe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "base/os/host_name.hpp"
#include "base/printable.hpp"
#include "cli/command_line/command_line.hpp"
#include "cli/json/json.hpp"
#include "cli/terminal.hpp"
#include "multifile/create/output_set.hpp"
#include "sfio/check.hpp"
#include "sfio/direct_link.hpp"

namespace sheaf::cli {

using multifile::OutputSet;

namespace {

using namespace sfio;

struct StripeOptions {
  std::string name;  // the striped file
  std::string root;  // empty: SHEAF_SFIO_ROOT; if unset, this machine only
  std::string file;  // path of the plain file for import and export
  std::optional<int64_t> unit;
  std::optional<int64_t> offset;
  std::optional<int64_t> length;
  bool replace = false;
  bool json = false;
};

constexpr int64_t buffer_bytes = 4 << 20;

struct StripeTarget {
  explicit StripeTarget(const StripeOptions& options)
      : link(direct_link(posix_store(), options.root, host_name())), name(parse_stripe_name(options.name)) {}
  std::shared_ptr<Link> link;
  StripeName name;
};

// Reads up to `length` bytes from offset `at` with read(room, at), and calls take(bytes, at) for each part.
// Stops earlier at the end of the data.
template <class Read, class Take>
void in_pieces(int64_t at, int64_t length, Read read, Take take) {
  LineBytes buffer(static_cast<size_t>(std::min(length, buffer_bytes)));
  while (length > 0) {
    const auto room = std::span(buffer).first(static_cast<size_t>(std::min(length, buffer_bytes)));
    const auto got = static_cast<int64_t>(read(room, at));
    if (got == 0) return;
    take(room.first(static_cast<size_t>(got)), at);
    at += got;
    length -= got;
  }
}

// Reads an extent of the striped file and calls take(bytes, at) for each part.
template <class Take>
void read_through(StripedFile& file, int64_t offset, int64_t length, Take take) {
  in_pieces(
      offset, length,
      [&](std::span<std::byte> room, int64_t at) {
        return file.read_block({at, room.data(), std::ssize(room)});
      },
      take);
}

const char* state_of(const FoundSubfile& f) {
  if (!f.exists) return "missing";
  if (!f.identity) return "no identity";
  if (!f.identity->complete) return "incomplete";
  return f.identity->size < 0 ? "not closed" : "closed";
}

int stripe_ls(const StripeOptions& options) {
  StripeTarget place(options);
  const auto found = look(*place.link, place.name);
  const StripeReport report = check_striped(place.name, found);
  if (options.json) {
    Json subfiles = Json::array();
    for (size_t i = 0; i < found.size(); ++i)
      subfiles.push_back({{"allocated", found[i].allocated},
                          {"host", place.name.subfiles[i].host},
                          {"path", place.name.subfiles[i].path},
                          {"size", found[i].size},
                          {"state", state_of(found[i])}});
    fmt::print("{}\n", text_of({{"closed", report.closed},
                                {"size", report.size},
                                {"stripe_unit", report.unit},
                                {"subfiles", subfiles}},
                               2));
    return 0;
  }
  fmt::print("{} bytes in {} subfiles, stripe unit {} bytes{}\n", report.size, found.size(), report.unit,
             report.closed ? "" : ", not closed");
  for (size_t i = 0; i < found.size(); ++i)
    fmt::print("{:4} {:>15} bytes  {:12} {},{}\n", i, found[i].size, state_of(found[i]),
               printable(place.name.subfiles[i].host), printable(place.name.subfiles[i].path));
  return 0;
}

int stripe_cat(const StripeOptions& options) {
  StripeTarget place(options);
  const auto file = StripedFile::open(place.link, place.name, SubfileOpenMode::read);
  read_through(*file, options.offset.value_or(0),
               options.length.value_or(INT64_MAX - options.offset.value_or(0)),
               [](std::span<const std::byte> bytes, int64_t) {
                 if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) < bytes.size())
                   throw os_error("cannot write to", "standard output", errno);
               });
  file->close();
  return 0;
}

// Returns the temporary name of a striped file until it is complete. Its subfiles are in the directories of
// the final ones.
StripeName temporary_name(const StripeName& name) {
  StripeName temporary = name;
  for (SubfilePlace& place : temporary.subfiles) place.path += ".part";
  return temporary;
}

// Throws if a file that is no subfile occupies the path of a subfile. Must be called before anything is
// written.
void require_own(Link& link, const StripeName& name) {
  const std::vector<FoundSubfile> found = look(link, name);
  for (size_t i = 0; i < found.size(); ++i)
    if (!found[i].is_own)
      throw file_error(
          Code::damaged, name.subfiles[i].host + "," + name.subfiles[i].path,
          "is no subfile of a striped file, or has lost its identity (.sfio); nothing was changed");
}

void copy_in(File& source, StripedFile& file, const std::string& path) {
  in_pieces(
      0, source.status().size,
      [&](std::span<std::byte> room, int64_t at) {
        check_signals();
        const size_t got = source.read_at(room, at);
        if (got == 0) throw file_error(Code::damaged, path, "has become shorter while it was read");
        return got;
      },
      [&](std::span<std::byte> bytes, int64_t at) {
        const Block block{at, bytes.data(), std::ssize(bytes)};
        file.write({&block, 1});
      });
}

// Imports to a temporary name and renames the complete file. An interrupted import therefore leaves no
// partial file under the final name, and does not damage a file that it would replace.
int stripe_import(const StripeOptions& options) {
  StripeTarget place(options);
  if (options.unit) place.name.unit = *options.unit;
  const FileStatus found = posix_store().status(options.file);
  if (found.is_directory || found.is_special)
    throw file_error(Code::invalid_argument, options.file,
                     "is no regular file, whose size says how much is to be read");
  const auto source = posix_store().open(options.file, Access::read);
  const StripeName made = options.replace ? temporary_name(place.name) : place.name;
  if (options.replace) {
    require_own(*place.link, place.name);
    remove_striped(*place.link, made);  // remove what a killed import may have left
  }
  const auto file = StripedFile::open(place.link, made, SubfileOpenMode::fresh);
  try {
    catch_signals();
    copy_in(*source, *file, options.file);
    file->close();
  } catch (...) {
    remove_striped(*place.link, made);
    throw;
  }
  // If the rename fails for some subfiles, these keep their temporary names.
  if (options.replace) rename_striped(*place.link, made, place.name);
  return 0;
}

int stripe_export(const StripeOptions& options) {
  StripeTarget place(options);
  const auto file = StripedFile::open(place.link, place.name, SubfileOpenMode::read);
  OutputSet outputs(posix_store(),
                    options.replace ? OutputSet::Existing::replaced : OutputSet::Existing::refused);
  catch_signals();
  const auto target = outputs.add(options.file);
  const int64_t size = file->status().size;
  read_through(*file, 0, size, [&](std::span<const std::byte> bytes, int64_t at) {
    check_signals();
    target->write_at(bytes, at);
  });
  target->close();
  outputs.commit();
  file->close();
  return 0;
}

int stripe_check(const StripeOptions& options) {
  StripeTarget place(options);
  const StripeReport report = check_striped(place.name, look(*place.link, place.name));
  const auto place_of = [&](const StripeFinding& finding) {
    const SubfilePlace& where = place.name.subfiles[static_cast<size_t>(finding.subfile)];
    return where.host + "," + where.path;
  };
  if (options.json) {
    Json findings = Json::array();
    for (const StripeFinding& finding : report.findings)
      findings.push_back(
          {{"place", place_of(finding)}, {"subfile", finding.subfile}, {"what", finding.what}});
    fmt::print("{}\n", text_of({{"closed", report.closed},
                                {"findings", findings},
                                {"ok", report.findings.empty()},
                                {"size", report.size},
                                {"stripe_unit", report.unit}},
                               2));
  } else if (report.findings.empty()) {
    fmt::print("ok: {} bytes in {} subfiles{}\n", report.size, place.name.subfiles.size(),
               report.closed ? "" : " (not closed: may have been written since)");
  } else {
    for (const StripeFinding& finding : report.findings)
      fmt::print("subfile {} ({}) {}\n", finding.subfile, printable(place_of(finding)),
                 printable(finding.what));
  }
  return report.findings.empty() ? 0 : 1;
}

int stripe_rm(const StripeOptions& options) {
  StripeTarget place(options);
  if (!remove_striped(*place.link, place.name))
    throw Error(Code::not_found, "there is no striped file '" + options.name + "'", ENOENT);
  return 0;
}

const char* const footer =
    "Example: sheaf stripe ls 'tonep0,/tmp/a.dat;tonep1,/tmp/a.dat;'\n"
    "Exit codes: 0 success, 1 a problem with a file or its data, 2 a mistake in the command line.";

// Adds a subcommand of `sheaf stripe` with the options that all subcommands share.
auto add_striped(Command& parent, int& status, int (*run)(const StripeOptions&), const char* name,
                 const char* what) {
  auto made = add<StripeOptions>(parent, status, run, name, what);
  made.sub.option("NAME", made.o->name, "the striped file: 'host,path;host,path;...'").required();
  made.sub
      .option("--root", made.o->root,
              "directory with one directory per host, for hosts other than this machine")
      .from_environment("SHEAF_SFIO_ROOT");
  return made;
}

}  // namespace

void add_stripe(Command& app, int& status) {
  Command stripe =
      app.command("stripe", "List, read, make, check and remove striped files without a running job");
  stripe.require_command();
  stripe.footer(footer);

  auto ls = add_striped(stripe, status, stripe_ls, "ls", "Size, stripe unit and subfiles");
  add_flags(ls.sub, {{"--json", ls.o->json, "as JSON"}});

  auto cat = add_striped(stripe, status, stripe_cat, "cat", "Write the logical file to standard output");
  cat.sub.option("--offset", cat.o->offset, "first byte").not_negative();
  cat.sub.option("--length", cat.o->length, "most bytes").not_negative();

  auto import = add_striped(stripe, status, stripe_import, "import", "Make a striped file from a plain file");
  import.sub.option("FILE", import.o->file, "the plain file").required();
  import.sub.option("--unit", import.o->unit, "bytes of a stripe unit (default 64 KiB)").positive();
  add_flags(import.sub, {{"--force", import.o->replace, "replace the striped file if it exists"}});

  auto exported =
      add_striped(stripe, status, stripe_export, "export", "Make a plain file from a striped file");
  exported.sub.option("FILE", exported.o->file, "the plain file").required();
  add_flags(exported.sub, {{"--force", exported.o->replace, "replace the plain file if it exists"}});

  auto check = add_striped(stripe, status, stripe_check, "check",
                           "Whether all subfiles are there, belong together and are long enough");
  add_flags(check.sub, {{"--json", check.o->json, "the findings as JSON"}});

  add_striped(stripe, status, stripe_rm, "rm",
              "Remove all subfiles and their identities, of damaged files too");
}

}  // namespace sheaf::cli
