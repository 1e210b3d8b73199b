# SHEAF_SANITIZE: builds everything with sanitizers. scripts/sanitize.sh runs the suite in such builds.
set(SHEAF_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined or thread")
set(SHEAF_FOR_TOOLS sheaf)  # the library that programs of Sheaf link
if(SHEAF_SANITIZE)
  set(SHEAF_FOR_TOOLS sheaf_static)  # the type sanitizer needs names of classes that the shared library hides
  # -O1 takes two thirds of the compile time of -O2.
  add_compile_options(-O1 -g1 -fsanitize=${SHEAF_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SHEAF_SANITIZE})
endif()

# The OpenMP runtime for programs in `language` (CXX, Fortran). ThreadSanitizer does not see the barriers of GNU's
# runtime, which is not instrumented. LLVM's has the same entry points and reports them through its tool Archer
# (scripts/sanitize.sh loads it).
function(sheaf_openmp language)
  find_package(OpenMP REQUIRED COMPONENTS ${language})
  if(SHEAF_SANITIZE MATCHES thread)
    find_library(SHEAF_LLVM_OPENMP omp HINTS /usr/lib/llvm-16/lib REQUIRED)
    set_target_properties(OpenMP::OpenMP_${language} PROPERTIES INTERFACE_LINK_LIBRARIES ${SHEAF_LLVM_OPENMP})
  endif()
  set(OpenMP_${language}_FLAGS "${OpenMP_${language}_FLAGS}" PARENT_SCOPE)
endfunction()
