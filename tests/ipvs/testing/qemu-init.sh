#!/bin/busybox sh
# The first process of a guest in QEMU, from the initial RAM disk: makes the host's files the root, read-only, and hands over to
# guest-init.sh.
b=/bin/busybox
$b mount -t devtmpfs dev /dev
while read -r module; do $b insmod "/modules/$module"; done </modules/order
# The host's files do not change while a guest runs, so what was read may stay in its memory.
$b mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=1048576,cache=loose host /host
$b mount --move /dev /host/dev
exec $b switch_root /host "$GUEST_INIT"
