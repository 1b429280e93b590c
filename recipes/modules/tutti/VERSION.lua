-- @VERSION@.lua - the module of a tutti below TUTTI_ROOT, or /opt/tutti: for Lmod. SPDX-License-Identifier: BSD-3-Clause
help([[tutti: allreduce and its family. "tutti help" and "man tutti" say what there is.]])
whatis("Name: tutti")
whatis("Version: @VERSION@")
whatis("Description: allreduce in shared memory, over an MPI or over UCX")

local root = os.getenv("TUTTI_ROOT") or "/opt/tutti"
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("LD_LIBRARY_PATH", pathJoin(root, "lib"))
prepend_path("LIBRARY_PATH", pathJoin(root, "lib"))
prepend_path("CPATH", pathJoin(root, "include"))
prepend_path("PKG_CONFIG_PATH", pathJoin(root, "lib/pkgconfig"))
prepend_path("CMAKE_PREFIX_PATH", root)
prepend_path("MANPATH", pathJoin(root, "share/man"))
for _, folder in ipairs({"python3.9", "python3.10", "python3.11", "python3.12", "python3.13"}) do
  local packages = pathJoin(root, "lib", folder, "site-packages")
  if isDir(packages) then prepend_path("PYTHONPATH", packages) end
end
