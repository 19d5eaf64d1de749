/** A Debian with nothing but the essential packages and nftables: no Node.js, no npm, no compiler. */
import { spawnSync } from 'node:child_process'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { missingForNamespace } from '../../src/dataplane/netlink/testing/network-namespace.ts'
import { packages, root } from '../../tools/package/places.ts'
import { packageHere, version } from './testing/built-package.ts'
import { writeObjects } from './testing/sample-objects.ts'

const missing = missingForNamespace('debootstrap', 'ip')
const debian = join(root, '.cache/debian-root')
const script = (name: string) => fileURLToPath(new URL(`testing/${name}`, import.meta.url))

describe.skipIf(missing !== undefined)(`on a fresh machine${missing === undefined ? '' : ` (${missing})`}`, () => {
  beforeAll(() => {
    const made = spawnSync(script('make-debian-root.sh'), [debian], { encoding: 'utf8' })
    if (made.status !== 0) throw new Error(`there is no Debian to try: ${made.stdout}${made.stderr}`)
  }, 600_000)

  const deb = basename(packageHere.deb)
  const tarball = basename(packageHere.tarball)
  const folder = basename(packageHere.tree)

  test('the .deb installs, serves, and leaves nothing but its configuration', () => {
    const output = onFreshMachine(`
      dpkg -i /packages/${deb} >/dev/null
      ${serves}
      dpkg -r fairlead >/dev/null 2>&1
      echo "after removal:"; ${files}
      dpkg -P fairlead >/dev/null 2>&1
      echo "after purging:"; ${files}`)
    expect(output).toBe(`${served}after removal:
/etc/default/fairlead
/etc/fairlead
/etc/fairlead/config.yaml
after purging:
`)
  })

  test('the tarball does, too, below /usr/local', () => {
    const output = onFreshMachine(`
      cd /root && tar -xzf /packages/${tarball} && cd ${folder}
      cp -a bin lib share /usr/local/ && cp -an etc /
      cd / && rm -r /root/${folder}
      ${serves}`)
    expect(output).toBe(served)
  })
})

/** Runs it to its end, and returns what it printed. */
function onFreshMachine(commands: string): string {
  const namespaces = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--propagation', 'private']
  const args = [...namespaces, script('on-fresh-machine.sh'), join(debian, 'root'), packages, commands]
  const { status, stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8', timeout: 110_000 })
  expect({ status, stderr, stdout: status === 0 ? '' : stdout }).toEqual({ status: 0, stderr: '', stdout: '' })
  return stdout
}

const files =
  'find / -xdev -path /packages -prune -o -path /proc -prune -o -iname "*fairlead*" -print -o -path "/etc/fairlead/*" -print | grep -v "^/var/lib/dpkg\\|^/var/log" | sort'

/** In nftables mode, from a manifest; perl and bash are all that Debian has for a server and a client. */
const serves = `
  ! command -v node npm
  fairlead --version
  ls $(dirname $(command -v fairlead))/../share/doc/fairlead/docs/upgrade.md >/dev/null
  ${writeObjects}
  perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalPort => 8080, Listen => 5, ReuseAddr => 1) or die; while ($c = $s->accept) { print $c "hello\\n"; close $c }' &
  server=$!
  flags="--proxy-mode=nftables --objects=/etc/fairlead/objects.yaml --hostname-override=node1 --conntrack-max-per-core=0 --conntrack-tcp-timeout-established=0s --conntrack-tcp-timeout-close-wait=0s --oom-score-adj=0"
  ! fairlead doctor --before-start $flags >/tmp/before && grep -o 'fix  *sysctl -w [^,]*' /tmp/before
  echo 1 >/proc/sys/net/ipv4/ip_forward
  fairlead doctor --before-start $flags >/tmp/before || { cat /tmp/before; exit 1; }
  fairlead $flags -v=2 2>/tmp/log &
  daemon=$!
  for try in $(seq 600); do grep -qs '"synced" family="ipv4"' /tmp/log && break; sleep 0.1; done
  exec 3<>/dev/tcp/10.96.0.10/80 && cat <&3 && exec 3>&-
  fairlead doctor >/tmp/doctor 2>&1 || { cat /tmp/doctor; exit 1; }
  echo "doctor is content"
  kill $daemon && wait $daemon
  fairlead --cleanup >/dev/null
  kill $server
  rm /etc/fairlead/objects.yaml /tmp/log /tmp/before /tmp/doctor
`

const served = `Kubernetes v1.36.4 (Fairlead ${version})
fix   sysctl -w net.ipv4.ip_forward=1
hello
doctor is content
`
