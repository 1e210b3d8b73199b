from spack.package import *


class Sheaf(CMakePackage):
    """Binds the many streams of a parallel program into few files: multifiles in the SION file format, with the interface of SIONlib
    1.7, an MPI-IO drop-in for programs that are there, and striped files over I/O listeners."""

    homepage = "file:///usr/share/doc/sheaf"
    # The archive of the sources is looked for where spack is called, and in mirrors.
    manual_download = True
    license("BSD-3-Clause")

    version("1.0.0")

    variant("mpi", default=True, description="Libraries for MPI, the MPI-IO drop-in, striped files")
    variant("fortran", default=True, description="Fortran modules")
    variant("flavour", default="default", values=("default", "tools"), multi=False,
            description="tools: archives for tracing libraries, every name begins with l")
    variant("compression", default=True, description="zstd, lz4 and gzip (zlib)")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("xxhash")
    depends_on("cli11", type="build")
    depends_on("fmt")
    depends_on("nlohmann-json", type="build")
    # Headers to build; the libraries are loaded when a stream asks for them.
    depends_on("zstd", type=("build", "run"), when="+compression")
    depends_on("lz4", type=("build", "run"), when="+compression")
    depends_on("zlib", type=("build", "run"), when="+compression")

    provides("sionlib", when="flavour=default")

    conflicts("%gcc@:11", msg="C++20 as Sheaf uses it needs GCC 12")
    conflicts("%clang@:15", msg="C++20 as Sheaf uses it needs Clang 16")
    conflicts("+mpi", when="flavour=tools", msg="tracing libraries bring their own communication: ~mpi")
    conflicts("+fortran", when="flavour=tools", msg="the tools flavour has C only: ~fortran")

    def cmake_args(self):
        args = []
        if self.spec.satisfies("flavour=tools"):
            args.append(self.define("SHEAF_FLAVOUR", "tools"))
            return args
        args.append(self.define("SHEAF_MPIS", self.spec["mpi"].prefix if self.spec.satisfies("+mpi") else "none"))
        if self.spec.satisfies("~fortran"):
            args.append(self.define("CMAKE_Fortran_COMPILER", "NOTFOUND"))
        return args

    def setup_run_environment(self, env):
        if self.spec.satisfies("+compression"):
            for name in ("zstd", "lz4", "zlib"):
                env.prepend_path("LD_LIBRARY_PATH", self.spec[name].prefix.lib)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def written_file_is_right(self):
        sheaf = Executable(self.prefix.bin.sheaf)
        sheaf("--version")
        sheaf("doctor", self.prefix)
