import os

from spack.package import *

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:  # before Spack 1.0 it came with the rest
    pass


class Sheaf(CMakePackage):
    """Binds the many streams of a parallel program into few files: multifiles in the SION file format, with
    the interface of SIONlib 1.7, an MPI-IO drop-in for programs that are there, and striped files over I/O
    listeners."""

    homepage = "file:///usr/share/doc/libsheaf-doc"
    # The archive of the sources is looked for where spack is called, and in mirrors.
    url = f"file://{os.getcwd()}/sheaf-1.0.0-rc1.tar.gz"
    manual_download = True
    license("BSD-3-Clause")

    # A candidate has no sha256: spack install --no-checksum (packaging/README.md).
    version("1.0.0-rc1")

    variant("mpi", default=True, description="Libraries for MPI, the MPI-IO drop-in, striped files")
    variant("fortran", default=True, description="Fortran modules")
    variant("flavour", default="default", values=("default", "tools"), multi=False,
            description="tools: archives for tracing libraries, every name begins with l")
    variant("compression", default=True, description="zstd, lz4 and gzip (zlib)")
    variant("mount", default=False, description="sheaf mount")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("xxhash")
    depends_on("cli11", type="build")
    depends_on("fmt")
    depends_on("nlohmann-json", type="build")
    # The compiler has to find their headers; the libraries are loaded when a stream asks for them.
    depends_on("zstd", type=("build", "link", "run"), when="+compression")
    depends_on("lz4", type=("build", "link", "run"), when="+compression")
    depends_on("zlib", type=("build", "link", "run"), when="+compression")
    depends_on("libfuse@3.12:", when="+mount")
    depends_on("pkgconfig", type="build", when="+mount")

    provides("sionlib", when="flavour=default")

    conflicts("%gcc@:11", msg="C++20 as Sheaf uses it needs GCC 12")
    conflicts("%clang@:15", msg="C++20 as Sheaf uses it needs Clang 16")
    conflicts("+mpi", when="flavour=tools", msg="tracing libraries bring their own communication: ~mpi")
    conflicts("+fortran", when="flavour=tools", msg="the tools flavour has C only: ~fortran")
    conflicts("+mount", when="flavour=tools", msg="the tools flavour has no sheaf mount: ~mount")

    def cmake_args(self):
        args = [self.define_from_variant("SHEAF_COMPRESSION", "compression")]
        if self.spec.satisfies("flavour=tools"):
            args.append(self.define("SHEAF_FLAVOUR", "tools"))
            return args
        args.append(self.define_from_variant("SHEAF_MOUNT", "mount"))
        # The wrapper, which of some MPIs is not in prefix/bin.
        mpi = self.spec["mpi"].mpicc if self.spec.satisfies("+mpi") else "none"
        args.append(self.define("SHEAF_MPIS", mpi))
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
