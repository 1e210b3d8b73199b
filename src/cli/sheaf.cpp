// cli/sheaf: declares and runs the command line of `sheaf`.
#include <algorithm>
#include <cstdio>

#include "base/printable.hpp"
#include "cli/about/build.hpp"
#include "cli/command_line/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/compression.hpp"
#include "cli/named/named.hpp"
#include "cli/programs/mpiio.hpp"
#include "cli/programs/run.hpp"
#include "cli/stripe/stripe.hpp"

namespace sheaf::cli {

namespace {

const std::string exit_codes =
    "Exit codes: 0 success, 1 a problem with a file or its data, 2 a mistake in the command line.";

// Returns the footer of the help of a command that works on files.
std::string with_exit_codes(const std::string& example) { return "Example: " + example + "\n" + exit_codes; }

constexpr const char* ignored_checksums =
    "take the data as they are, also where checksums say that they are damaged";

void add_dump(Command& app, int& status) {
  auto [sub, o] = add<DumpOptions>(app, status, dump, "dump",
                                   "Print all metadata of a multifile, as siondump does or as JSON",
                                   with_exit_codes("sheaf dump -a -l restart.sion"));
  sub.option("FILE", o->path, "physical file 0 of a multifile, or any one physical file").required();
  add_flags(sub, {{"-a", o->blocks, "table of the blocks of every task"},
                  {"-l", o->bytes, "that table in bytes instead of MB"},
                  {"-m", o->mapping, "mapping of tasks to physical files as a list"},
                  {"-M", o->mapping_by_file, "mapping per physical file"},
                  {"-k", o->keys, "key-value statistics per task"},
                  {"-K", o->records, "key-value records per task"},
                  {"-S", o->internals, "memory and descriptors in use"},
                  {"--json", o->json, "everything as JSON; with -K including the key-value records"},
                  {"--ignore-checksums", o->ignore_checksums, ignored_checksums}});
}

void add_split(Command& app, int& status) {
  auto [sub, o] =
      add<SplitOptions>(app, status, split, "split", "Write the stream of every task into a file of its own",
                        with_exit_codes("sheaf split restart.sion out/task."));
  sub.option("FILE", o->path, "the multifile").required();
  sub.option("PREFIX", o->request.prefix,
             "begin of the names of the outputs; task number, and for key-value multifiles _KEY, follow")
      .required();
  sub.flag("-g", o->request.global_ranks, "number the outputs by the stored global rank");
  sub.option("-d", o->request.digits, "digits of the task number").between(1, 200).with_default_in_help();
  sub.option("-t,--task", o->request.tasks, "only these tasks: N or N,N,...; may be repeated")
      .separated_by(',')
      .one_value_each();
  sub.flag("--names", o->names,
           "put the names of the streams behind PREFIX instead of numbers; makes directories, times and "
           "permissions")
      .excludes("-g")
      .excludes("-t");
  add_flags(sub, {{"--force", o->request.replace, "replace outputs that exist"},
                  {"--ignore-checksums", o->ignore_checksums, ignored_checksums}});
}

void add_defrag(Command& app, int& status) {
  auto [sub, o] = add<DefragOptions>(app, status, defrag, "defrag",
                                     "Copy a multifile into one file, or several, with one chunk per task",
                                     with_exit_codes("sheaf defrag -q 1 restart.sion packed.sion"));
  sub.option("IN", o->path, "the multifile").required();
  sub.option("OUT", o->request.output, "the new multifile").required();
  const Option bytes =
      sub.option("-q", o->request.fsblksize,
                 "block size of the new file in bytes (default: that of IN); 1: no gaps at all")
          .between(1, INT32_MAX);
  sub.option(
         "-Q", [&given = *o](int32_t megabytes) { given.request.fsblksize = megabytes << 20; },
         "block size of the new file in MB")
      .between(1, INT32_MAX >> 20)
      .excludes(bytes);
  sub.option("-n", o->request.nfiles, "physical files of the new multifile (default: 1)")
      .between(1, INT32_MAX);
  const Option plain =
      sub.flag("--decompress", o->request.plain,
               "write what is compressed as it was before; else compressed data are copied as they are");
  auto how = std::make_shared<CompressionOptions>();
  const Option method =
      sub.option("--compress", how->method,
                 "compress the streams: zstd, zstd:LEVEL, gzip, gzip:LEVEL or lz4; also such "
                 "as are compressed already")
          .excludes(plain);
  sub.option("--shuffle", how->shuffle,
             "with --compress: size of the elements whose bytes are put together first, in bytes")
      .needs(method);
  sub.option("--frame", how->frame, "with --compress: plain bytes of a frame, 1k to 16M").needs(method);
  add_flags(sub, {{"--force", o->request.replace, "replace OUT if it exists"},
                  {"--ignore-checksums", o->ignore_checksums, ignored_checksums}});
  sub.on_use([o, how, &status] {
    if (!how->method.empty()) o->request.compression = compression_of(*how);
    status = defrag(*o);
  });
}

void add_cat(Command& app, int& status) {
  auto [sub, o] =
      add<CatOptions>(app, status, cat, "cat", "Write the streams of tasks to standard output or into a file",
                      with_exit_codes("sheaf cat --task 3 restart.sion | xxd | head"));
  sub.option("FILE", o->path, "the multifile").required();
  const Option task = sub.option("-t,--task", o->task, "only this task");
  sub.option("-n,--name", o->name, "only the stream of this name (`sheaf ls` shows them)").excludes(task);
  sub.option("-b,--block", o->block, "only this block of each task");
  sub.option("-o,--output", o->output, "write into this file");
  add_flags(sub, {{"--force", o->replace, "replace that file if it exists"},
                  {"-v", o->verbose, "say on stderr what is written"},
                  {"--ignore-checksums", o->ignore_checksums, ignored_checksums}});
}

void add_ls(Command& app, int& status) {
  auto [sub, o] = add<LsOptions>(app, status, ls, "ls",
                                 "List the streams of a multifile, or of a set of containers, by their names",
                                 with_exit_codes("sheaf ls -l dump.sion out/"));
  sub.option("FILE", o->path, "the multifile or set, or one container").required();
  sub.option("PREFIX", o->prefix, "only names that begin so");
  add_flags(sub, {{"-l", o->details, "permissions, bytes and time of the last change (UTC), too"},
                  {"--json", o->json, "the list as JSON"}});
}

void add_info(Command& app, int& status) {
  auto [sub, o] = add<InfoOptions>(app, status, info, "info",
                                   "Summary of a multifile; without one: version, defaults, environment",
                                   with_exit_codes("sheaf info restart.sion"));
  sub.option("FILE", o->path, "the multifile").checked([](const std::string& name) {
    return std::string(name.empty() ? "the name of the file is empty" : "");
  });
  add_flags(sub,
            {{"--json", o->json, "as JSON"}, {"--ignore-checksums", o->ignore_checksums, ignored_checksums}});
}

void add_verify(Command& app, int& status) {
  auto [sub, o] = add<VerifyOptions>(app, status, verify, "verify",
                                     "Check multifiles: all metadata, and all data against their checksums",
                                     with_exit_codes("sheaf verify checkpoints/*.sion"));
  sub.option("FILE", o->paths, "multifiles: physical file 0 of each, or any one physical file").required();
  add_flags(sub, {{"--metadata-only", o->metadata_only,
                   "do not read the data (key-value records are scanned all the same)"},
                  {"--json", o->json, "the findings as JSON"}});
}

void add_repair(Command& app, int& status) {
  auto [sub, o] =
      add<RepairOptions>(app, status, repair, "repair", "Make a multifile complete that was never closed",
                         with_exit_codes("sheaf repair --dry-run restart.sion && sheaf repair restart.sion"));
  sub.option("FILE", o->path, "physical file 0 of the multifile, or any one physical file").required();
  sub.option("--copy", o->request.copy_to, "write a complete copy of this name and leave FILE as it is");
  add_flags(sub, {{"--force", o->force,
                   "replace that copy if it exists; in place: repair although a living job is writing FILE, "
                   "which fails then; keep what is there of a file that was cut off"},
                  {"--dry-run", o->request.dry_run, "only say what would be recovered"},
                  {"--holes", o->request.holes,
                   "go by the holes of the file even where a journal tells what tasks had flushed"},
                  {"--json", o->json, "the report as JSON"}});
}

void add_leftovers(Command& app, int& status) {
  auto [sub, o] =
      add<LeftoversOptions>(app, status, leftovers, "leftovers",
                            "List multifiles under temporary names (open mode atomic); finish or remove them",
                            with_exit_codes("sheaf leftovers checkpoints"));
  sub.option("DIR", o->directory, "where to look").with_default_in_help();
  const Option finish = sub.flag("--finish", o->finish, "give those that are complete their names");
  sub.flag("--remove", o->remove, "remove all").excludes(finish);
  sub.flag("--force", o->force, "with --finish: also in the place of a multifile that is newer")
      .needs(finish);
  sub.flag("--json", o->json, "the list as JSON");
}

void add_saves(Command& app, int& status) {
  auto [sub, o] = add<SavesOptions>(
      app, status, show_saves, "saves", "List the saves in the background of a directory (open mode async)",
      "Example: sheaf saves checkpoints\nExit codes: 0 success, 1 a save has failed or is lost, or a problem "
      "with a file, 2 a mistake in the command line.");
  sub.option("DIR", o->directory, "where to look").with_default_in_help();
  sub.flag("--finish", o->finish, "commit those that are complete, and remove those that are lost");
  sub.flag("--json", o->json, "the list as JSON");
}

void add_latest(Command& app, int& status) {
  auto [sub, o] = add<LatestOptions>(
      app, status, latest, "latest", "Print the newest durable multifile of those whose names match",
      "Example: sheaf latest 'checkpoints/step.*.sion'\nExit codes: 0 success, 1 none "
      "matches, or a problem with a file, 2 a mistake in the command line.");
  sub.option("PATTERN", o->pattern, "a path; its last component may have *, ? and [...]").required();
  sub.flag("--json", o->json, "as JSON");
}

void add_doctor(Command& app, int& status) {
  auto [sub, o] = add<DoctorOptions>(
      app, status, doctor, "doctor",
      "What Sheaf knows of the file system of a directory, and whether it keeps its promises",
      "Examples: sheaf doctor /scratch/me\n          sheaf doctor /scratch/me /proc/4711/root/scratch/me\n"
      "Exit codes: 0 success, 1 the file system promises more than it keeps, or a problem, 2 a mistake in "
      "the command line.");
  sub.option("DIR", o->directory, "a directory where files are, or will be").required();
  sub.option("DIR2", o->other,
             "the same directory by another way, as another host sees it: what is between the two is tried");
  sub.flag("--json", o->json, "as JSON");
}

void add_mpiio(Command& app, int& status) {
  auto [sub, o] = add<MpiIoOptions>(
      app, status, mpiio, "mpiio", "Run a program with Sheaf's MPI-IO under its own MPI library",
      "Example: sheaf mpiio --report -- mpirun -n 4 ./program\nExit code: that of the command; 127 if it "
      "cannot be run, 2 a mistake in the command line.");
  add_flags(sub, {{"--report", o->report, "say on stderr afterwards what was done for which file"},
                  {"--json", o->json, "that report as JSON on stdout"}});
  sub.option("COMMAND", o->command,
             "what starts the program, behind --: mpirun with its arguments, or the program")
      .required();
  sub.end_options_at_first_argument();
}

void add_mount(Command& app, int& status) {
  auto [sub, o] = add<MountOptions>(
      app, status, mount, "mount", "Show the streams of multifiles as files of a directory (FUSE)",
      with_exit_codes("sheaf mount restart.sion view && tar cf restart.tar view; sheaf umount view"));
  sub.option("FILE DIR", o->paths,
             "multifiles, then the directory; of several multifiles each is a directory in there")
      .required();
  add_flags(sub,
            {{"--write", o->write,
              "new streams can be written: they go into a container beside FILE, which need not be there"},
             {"--foreground", o->foreground, "stay until DIR is unmounted, and tell problems on stderr"},
             {"--allow-other", o->allow_other,
              "other users may see DIR, as far as the modes of the multifiles let them"},
             {"--ignore-checksums", o->ignore_checksums,
              "show the data as they are, also where checksums say that they are damaged"}});
}

void add_umount(Command& app, int& status) {
  auto [sub, o] = add<UmountOptions>(app, status, umount, "umount", "End what sheaf mount has begun",
                                     with_exit_codes("sheaf umount view"));
  sub.option("DIR", o->directories, "where multifiles are mounted").required();
  sub.flag("--lazy", o->lazy, "also while files in there are open: the mount ends with the last of them");
}

void add_run(Command& app, int& status) {
  auto [sub, o] = add<RunOptions>(
      app, status, run, "run",
      "Run a program whose files are captured in multifiles, or that sees multifiles as directories",
      "Example: sheaf run --capture 'out/dump.*:dump.sion' -- mpirun -n 16 ./program\nExit code: that of the "
      "command; 127 if it cannot be run, 1 if its multifiles cannot be made, 2 a mistake in the command "
      "line.");
  sub.option("--capture", o->captures,
             "PATTERN:SET: files whose names match become streams of the multifile SET; may be repeated")
      .one_value_each();
  sub.option("--view", o->views,
             "FILE:DIR: the streams of FILE as files of DIR, for reading; may be repeated")
      .one_value_each();
  sub.flag("--keep-containers", o->keep_containers,
           "leave the containers of the sets as they are at the end");
  sub.option("COMMAND", o->command,
             "what starts the program, behind --: mpirun with its arguments, or the program")
      .required();
  sub.end_options_at_first_argument();
}

std::string version(bool details) {
  std::string text = "sheaf " SHEAF_VERSION;
  if (details) text += "\n" + text_of(summary_width, rows_of_build());
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

}  // namespace

int run_sheaf(int argc, char** argv) {
  CommandLine line("Sheaf: many task-local files in one. Looks into multifiles and takes them apart.",
                   "sheaf");
  Command& app = line.top();
  int status = 0;
  bool details = false;
  app.flag("-v", details, "with --version: also what is built in")
      .needs(app.version_flag("--version", [&details] { return version(details); }));
  app.require_command();
  app.footer(std::string("`sheaf COMMAND --help` explains a command; `man sheaf-COMMAND` says more.\n") +
             exit_codes);
  for (const auto add_command :
       {add_dump, add_split, add_defrag, add_cat, add_ls, add_info, add_verify, add_stripe, add_repair,
        add_leftovers, add_saves, add_latest, add_doctor, add_mpiio, add_mount, add_umount, add_run})
    add_command(app, status);
  // Report an unknown command such as `verfy` here, because CLI11 would only say that a subcommand is
  // required.
  const std::string word = argc > 1 ? argv[1] : "";
  if (!word.empty() && word[0] != '-' && !line.has_command(word)) {
    std::fprintf(stderr, "sheaf: '%s' is no command\n  (`sheaf --help` shows the commands)\n",
                 printable(word).c_str());
    return 2;
  }
  return line.parse(argc, argv).value_or(status);
}

}  // namespace sheaf::cli
