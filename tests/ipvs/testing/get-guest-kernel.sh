#!/usr/bin/env bash
# Gets a kernel with IPVS for QEMU into .cache/guest-kernel: Debian's, downloaded and unpacked, not installed. Needs no root.
set -euo pipefail
cd "$(dirname "$0")/../../.."
made=.cache/guest-kernel
[ ! -e "$made" ] || exit 0

mkdir -p .cache
work=$(mktemp -d .cache/guest-kernel.XXXXXX)
trap 'rm -rf "$work"' EXIT

# The cloud kernel is smaller, but has no 9p. busybox-static would be in the way of busybox if it were installed.
package=$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image-/ { print $2; exit }')
[ -n "$package" ] || { echo 'apt knows no linux-image-amd64; try "apt-get update"' >&2; exit 1; }
# As root, apt would give its downloads to a user that may not write here.
(cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "$package" busybox-static)

mkdir -p "$work"/initramfs.d/{bin,dev,host,modules} "$work"/{busybox,package,lib}
dpkg-deb -x "$work"/busybox-static_*.deb "$work/busybox"
mv "$(find "$work/busybox" -path '*/bin/busybox' -type f)" "$work/initramfs.d/bin/busybox"

# A tenth of the modules is enough: no graphics, no sound, no hardware.
folders=(net lib crypto arch fs drivers/virtio drivers/net/dummy.ko\* drivers/net/veth.ko\*)
dpkg-deb --fsys-tarfile "$work/${package}"_*.deb |
  tar -x -C "$work/package" --wildcards --no-wildcards-match-slash --no-anchored \
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
    cp "$file" "$work/initramfs.d/modules/"
    basename "$file" >>"$work/initramfs.d/modules/order"
  done
cp tests/ipvs/testing/qemu-init.sh "$work/initramfs.d/init"
chmod +x "$work/initramfs.d/init"
(cd "$work/initramfs.d" && find . | ./bin/busybox cpio --quiet -o -H newc) >"$work/initramfs"

rm -rf "$work"/*.deb "$work"/{busybox,package,initramfs.d}
chmod 755 "$work"
# Somebody else may have been quicker.
mv -T "$work" "$made" 2>/dev/null || [ -e "$made" ]
