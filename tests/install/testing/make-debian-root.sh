#!/usr/bin/env bash
# make-debian-root.sh FOLDER: a minimal Debian without Node.js, of the same release and from the same place as this machine's own.
# Made once; a folder that is complete is left alone.
set -euo pipefail

folder=${1:?usage: make-debian-root.sh FOLDER}
[ ! -e "$folder/complete" ] || exit 0

read -r mirror release < <(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' | head -n 1)
unfinished=$folder.unfinished
rm -rf "$unfinished"
mkdir -p "$(dirname "$folder")"
# nftables is what the package recommends.
debootstrap --variant=minbase --include=nftables "$release" "$unfinished/root" "$mirror"
rm -rf "$unfinished"/root/var/cache/apt/archives/*.deb "$unfinished"/root/var/lib/apt/lists/*
touch "$unfinished/complete"
rm -rf "$folder"
mv "$unfinished" "$folder"
