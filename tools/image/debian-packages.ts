/** Which Debian packages are in the image, and which of their files. */

/** The release whose packages the tests of all modes run with. */
export const suite = 'bookworm'

/** Each with its reason. Apt adds the libraries that they need. */
export const wantedPackages: Readonly<Record<string, string>> = {
  nftables: 'the nftables mode',
  iptables: 'the iptables, ipvs and userspace modes; it has both variants, nft and legacy',
  ipset: 'the ipvs mode',
  conntrack: 'all modes, where netlink does not work; and people who look for a connection',
  kmod: 'the ipvs mode: modprobe loads ip_vs',
  netbase: 'ipset and nft read the names of protocols in /etc/protocols',
  'libstdc++6': 'Node.js, which is in the executable',
  'base-files': 'names the release, for scanners; and the texts of common licences',
}

/** Packages that only the scripts of other packages need. Nothing runs these scripts here. */
export const unneededPackages: readonly string[] = ['mawk']

/** What a daemon in a container never opens, as patterns of tar. */
export const unneededFiles: readonly string[] = [
  './boot',
  './etc/default',
  './etc/dpkg',
  './etc/init.d',
  './etc/issue*',
  './etc/modprobe.d',
  './etc/profile*',
  './etc/rmt',
  './etc/skel',
  './etc/update-motd.d',
  './home',
  './lib/systemd',
  './root',
  './tmp',
  './usr/games',
  './usr/include',
  './usr/local',
  './usr/src',
  './var',
  './usr/sbin/*-apply',
  './usr/lib/*/gconv',
  './usr/lib/*/engines-*',
  './usr/lib/*/ossl-modules',
  './usr/lib/*/libssl.so.*',
  './usr/share/base-files',
  './usr/share/bash-completion',
  './usr/share/bug',
  './usr/share/dict',
  './usr/share/gcc',
  './usr/share/gdb',
  './usr/share/info',
  './usr/share/initramfs-tools',
  './usr/share/lintian',
  './usr/share/locale',
  './usr/share/man',
  './usr/share/misc',
  './usr/share/terminfo',
]
