#!/usr/bin/env bash
# Makes a folder with all that Fairlead needs on a Windows node: Node.js, Fairlead, and its packages for Windows.
# Runs on Linux, macOS, or Windows with Git's bash; needs npm, tar, and this repository.
#
#   deploy/windows/package.sh FOLDER
#
# The versions of the packages are those of package-lock.json. ARCH is x64 or arm64.
set -euo pipefail

folder=${1:?usage: package.sh FOLDER}
arch=${ARCH:-x64}
node_version=${NODE_VERSION:-22.23.3}

repository=$(cd "$(dirname "$0")/../.." && pwd)
[ ! -e "$folder" ] || { echo "$folder is there already: name another folder, or remove it" >&2; exit 1; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
downloads=$(mktemp -d)
trap 'rm -rf "$downloads"' EXIT

cd "$repository"
[ -d node_modules ] || npm ci
npm run --silent build
npm pack --silent --pack-destination "$downloads" >/dev/null
tar -xzf "$downloads"/fairlead-*.tgz -C "$folder" --strip-components=1

# npm leaves the lock file out of a package.
cp package-lock.json .npmrc "$folder"
(cd "$folder" && npm ci --silent --omit=dev --ignore-scripts --os=win32 --cpu="$arch")

# npm checks what it fetches against the hash that the registry names.
npm pack --silent --pack-destination "$downloads" "node-win-$arch@$node_version" >/dev/null
tar -xzf "$downloads/node-win-$arch-$node_version.tgz" -C "$downloads"
cp "$downloads/package/bin/node.exe" "$folder"

echo "Fairlead $(node -p 'require("./package.json").version') with Node.js $node_version for Windows ($arch): $folder"
