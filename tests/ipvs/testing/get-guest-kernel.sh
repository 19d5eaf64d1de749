#!/usr/bin/env bash
# get-guest-kernel.sh [PACKAGE FOLDER]
# Gets a kernel for QEMU into .cache/guest-kernel: Debian's, downloaded and unpacked, not installed. Needs no root.
# With arguments, another one into a folder of its own: one that apt knows, by the file that APT_CONFIG names.
set -euo pipefail
cd "$(dirname "$0")/../../.."
made=${2:-.cache/guest-kernel}
[ ! -e "$made" ] || exit 0

mkdir -p .cache
work=$(mktemp -d .cache/guest-kernel.XXXXXX)
trap 'rm -rf "$work"' EXIT

# The cloud kernel is smaller, but has no 9p. busybox-static would be in the way of busybox if it were installed.
package=${1:-$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image-/ { print $2; exit }')}
[ -n "$package" ] || { echo 'apt knows no linux-image-amd64; try "apt-get update"' >&2; exit 1; }
# Ubuntu's modules are in a package of their own.
modules=$(apt-cache depends "$package" | awk '/Depends: linux-modules-/ { print $2; exit }')
# As root, apt would give its downloads to a user that may not write here.
(cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "$package" $modules && env -u APT_CONFIG apt-get -qq -o APT::Sandbox::User=root download busybox-static)

mkdir -p "$work"/initramfs.d/{bin,dev,host,modules} "$work"/{busybox,package,lib}
dpkg-deb -x "$work"/busybox-static_*.deb "$work/busybox"
mv "$(find "$work/busybox" -path '*/bin/busybox' -type f)" "$work/initramfs.d/bin/busybox"

# A tenth of the modules is enough: no graphics, no sound, no hardware.
folders=(net lib crypto arch fs drivers/virtio drivers/net/dummy.ko\* drivers/net/veth.ko\*)
for name in $package $modules; do dpkg-deb --fsys-tarfile "$work/${name}"_*.deb; done |
  tar -x -C "$work/package" --ignore-zeros --wildcards --no-wildcards-match-slash --no-anchored \
    'boot/vmlinuz-*' 'modules.order' 'modules.builtin*' "${folders[@]/#/lib/modules/*/kernel/}"
mv "$work"/package/boot/vmlinuz-* "$work/vmlinuz"
mv "$(find "$work/package" -path '*lib/modules' -type d)" "$work/lib/modules"
release=$(basename "$work"/lib/modules/*)
PATH=$PATH:/usr/sbin:/sbin
depmod -b "$work" "$release"

# What the kernel needs before it sees the files of the host. Delete .cache/guest-kernel after a change of qemu-init.sh.
for module in virtio_pci 9pnet_virtio 9p; do modprobe -d "$work" -S "$release" --show-depends "$module"; done |
  awk '$1 == "insmod" && !seen[$2]++ { print $2 }' |
  while read -r file; do
    # busybox cannot read those that are compressed.
    name=$(basename "$file" | sed 's/\.ko.*/.ko/')
    case $file in
      *.xz) xz -dc "$file" ;;
      *.zst) zstd -qdc "$file" ;;
      *) cat "$file" ;;
    esac >"$work/initramfs.d/modules/$name"
    echo "$name" >>"$work/initramfs.d/modules/order"
  done
cp tests/ipvs/testing/qemu-init.sh "$work/initramfs.d/init"
chmod +x "$work/initramfs.d/init"
(cd "$work/initramfs.d" && find . | ./bin/busybox cpio --quiet -o -H newc) >"$work/initramfs"

rm -rf "$work"/*.deb "$work"/{busybox,package,initramfs.d}
# Some are for root only.
chmod 644 "$work/vmlinuz"
chmod 755 "$work"
# Somebody else may have been quicker.
mv -T "$work" "$made" 2>/dev/null || [ -e "$made" ]
