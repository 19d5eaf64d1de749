#!/bin/sh
# on-fresh-machine.sh ROOT PACKAGES SCRIPT: runs a script on a Debian that nobody has changed yet, with a network of its own. What it
# changes is in memory, and gone afterwards. The folder PACKAGES is /packages there.
# To be called as: unshare --net --mount --pid --fork --propagation private on-fresh-machine.sh …
set -e
root=$1 packages=$2 script=$3
ip link set lo up
ip link add node0 type veth peer name outside
ip addr add 192.0.2.10/24 dev node0
ip link set node0 up
ip link set outside up
ip route add default via 192.0.2.1

mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o "lowerdir=$root,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
mkdir /mnt/root/packages
mount --bind -o ro "$packages" /mnt/root/packages
mount -t proc proc /mnt/root/proc
mount -t sysfs sysfs /mnt/root/sys
mount --bind /dev /mnt/root/dev
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 chroot /mnt/root bash --norc -euc "$script"
