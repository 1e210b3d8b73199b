// cli/commands: implementations of the subcommands, shared by `sheaf` and the classic names. Each function
// returns the exit code: 0, or 1 after a problem that it has reported. All functions throw sheaf::Error for
// problems that the caller must report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "multifile/recover/repair.hpp"
#include "multifile/tools/defrag.hpp"
#include "multifile/tools/split.hpp"

namespace sheaf::cli {

// Loads all metadata of a multifile. If the multifile was never closed, uses its journal and prints a warning
// on stderr. With `ignore_checksums`, skips verification, so that the rest of a damaged file can be saved.
multifile::Multifile load(const std::string& path, bool ignore_checksums = false);
// Warns on stderr if the multifile is `unclosed`, with any damage of its journal, and if a repair has
// `guessed` values.
void tell_what_is_unsure(const std::string& path, bool unclosed, bool guessed);

struct DumpOptions {
  std::string path{};
  bool ignore_checksums = false;
  bool blocks = false;           // -a
  bool bytes = false;            // -l
  bool mapping = false;          // -m
  bool mapping_by_file = false;  // -M
  bool keys = false;             // -k
  bool records = false;          // -K
  bool internals = false;        // -S
  bool json = false;
};
int dump(const DumpOptions& options);
void dump_text(const multifile::Multifile& multifile, const DumpOptions& options);
void dump_json(const multifile::Multifile& multifile, bool with_records);

struct CatOptions {
  std::string path{};
  bool ignore_checksums = false;
  std::optional<int64_t> task{};
  std::string name{};  // name of a stream; empty: select by task
  std::optional<int64_t> block{};
  std::string output{};  // empty: stdout
  bool replace = false;
  bool verbose = false;
};
int cat(const CatOptions& options);

struct SplitOptions {
  std::string path{};
  bool ignore_checksums = false;
  multifile::SplitRequest request{};
  bool names = false;  // name the outputs after the streams
};
int split(const SplitOptions& options);

struct DefragOptions {
  std::string path{};
  bool ignore_checksums = false;
  multifile::DefragRequest request{};
};
int defrag(const DefragOptions& options);

struct InfoOptions {
  std::string path;  // empty: describe Sheaf itself
  bool ignore_checksums = false;
  bool json = false;
};
int info(const InfoOptions& options);
void print_info(const multifile::Multifile& multifile, bool json);

struct VerifyOptions {
  std::vector<std::string> paths;
  bool metadata_only = false;
  bool json = false;
};
int verify(const VerifyOptions& options);

struct RepairOptions {
  std::string path;
  multifile::RepairRequest request;
  bool force = false;
  bool json = false;
};
int repair(const RepairOptions& options);

struct LeftoversOptions {
  std::string directory = ".";
  bool remove = false;
  bool finish = false;
  bool force = false;  // with finish: replace newer files
  bool json = false;
};
int leftovers(const LeftoversOptions& options);

struct SavesOptions {
  std::string directory = ".";
  bool finish = false;
  bool json = false;
};
int show_saves(const SavesOptions& options);

struct LatestOptions {
  std::string pattern;
  bool json = false;
};
// Throws `not_found` if no durable multifile matches.
int latest(const LatestOptions& options);

struct DoctorOptions {
  std::string directory;
  std::string other;  // another path to the same directory; empty: none
  bool json = false;
};
int doctor(const DoctorOptions& options);

struct MountOptions {
  std::vector<std::string> paths;  // multifiles, then the mount point
  bool write = false;
  bool foreground = false;
  bool allow_other = false;
  bool ignore_checksums = false;
};
// Replaces this process by the program sheaf-mount, which is part of builds with libfuse. Throws
// `unsupported` if it is missing.
int mount(const MountOptions& options);

struct UmountOptions {
  std::vector<std::string> directories;
  bool lazy = false;
};
// Unmounts the directories and waits until their mount programs have ended. Throws for a directory that is no
// mount point of Sheaf.
int umount(const UmountOptions& options);

// Runs the classic tool `name`: siondump, sionsplit, siondefrag, sioncat or sionversion. Returns nullopt for
// any other name.
std::optional<int> run_classic(const std::string& name, int argc, char** argv);

// Runs the complete `sheaf` command line.
int run_sheaf(int argc, char** argv);

}  // namespace sheaf::cli
