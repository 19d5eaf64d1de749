/** The packages in the hands of a real systemd: start, reload, upgrade, one instance after another, removal. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { missingForNamespace } from '../../src/dataplane/netlink/testing/network-namespace.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { packages } from '../../tools/package/places.ts'
import { packageHere, version } from './testing/built-package.ts'
import { writeObjects } from './testing/sample-objects.ts'

const script = fileURLToPath(new URL('testing/with-systemd.sh', import.meta.url))
const missing =
  missingForNamespace('unshare', 'ip', 'nft', 'iptables', 'perl', 'systemctl', 'dpkg') ??
  (existsSync('/lib/systemd/systemd') ? undefined : 'systemd is not installed')

describe.skipIf(missing !== undefined)(`under systemd${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  test('in a kernel mode: a reload keeps the process, an upgrade of the package replaces it, a removal ends it', () => {
    const output = underSystemd(`
      mode nftables
      systemctl start fairlead && until_journal fairlead '"synced" family="ipv4"'
      ask hello
      before=$(main_pid fairlead)
      systemctl reload fairlead && until_journal fairlead 'SIGHUP: reading the configuration file again'
      test "$(main_pid fairlead)" = $before && echo "reloaded, the same process"
      dpkg -i /packages/${basename(packageHere.deb)} >/dev/null 2>&1
      ask hello
      test "$(main_pid fairlead)" != $before && echo "upgraded, another process"
      dpkg -r fairlead >/dev/null 2>&1
      systemctl is-active fairlead || ask hello`)
    expect(output).toBe(`hello
reloaded, the same process
hello
upgraded, another process
inactive
hello
`)
  })

  test('in userspace mode: an open connection outlives the instance that accepted it', () => {
    const output = underSystemd(`
      mode userspace
      systemctl start fairlead@a && until_journal fairlead@a '"synced" family="ipv4"'
      exec 5<>/dev/tcp/10.96.0.10/80
      read -r line <&5 && echo "$line"
      systemctl start fairlead@b && until_journal fairlead@b 'took over from the proxy before this one'
      systemctl stop --no-block fairlead@a
      ask hello
      echo still here >&5 && read -r line <&5 && echo "$line"
      systemctl is-active fairlead@a || true
      exec 5>&-
      for try in $(seq 300); do test "$(systemctl is-active fairlead@a)" = inactive && break; sleep 0.1; done
      systemctl is-active fairlead@a || true
      test -d /run/fairlead && echo "the folder for sockets is still there"
      ask hello
      dpkg -r fairlead >/dev/null 2>&1
      systemctl is-active fairlead@b || true`)
    expect(output).toBe(`hello
hello
you said: still here
deactivating
inactive
the folder for sockets is still there
hello
inactive
`)
  })
})

const noRpm = spawnSync('rpm', ['--version']).status === 0 ? '' : ' (skipped: rpm is not installed)'

test.skipIf(noRpm !== '')(
  `the .rpm installs into an empty folder, runs there, and goes without a trace${noRpm}`,
  async () => {
    await using folder = await TemporaryFolder.make()
    const rpm = (...args: readonly string[]) => {
      const { status, stdout, stderr } = spawnSync('rpm', ['--root', folder.path, ...args], { encoding: 'utf8' })
      // That of Debian says that it would rather not.
      expect({ status, stderr: stderr.replaceAll(/^rpm: (?:RPM should|However).*\n/gm, '') }).toEqual({
        status: 0,
        stderr: '',
      })
      return stdout
    }
    // There is neither a C library in it that could be asked for, nor a shell that could run a scriptlet.
    rpm('--install', '--nodeps', '--noscripts', packageHere.rpm)
    expect(rpm('--query', 'fairlead')).toContain(`fairlead-${version}-1.`)
    expect(rpm('--verify', '--nodeps', '--noscripts', 'fairlead')).toBe('')
    const { stdout } = spawnSync(join(folder.path, 'usr/bin/fairlead'), ['--version'], { encoding: 'utf8' })
    expect(stdout).toContain(`Fairlead ${version}`)
    for (const unit of ['fairlead.service', 'fairlead@.service'])
      expect(existsSync(join(folder.path, 'usr/lib/systemd/system', unit))).toBe(true)
    const scripts = rpm('--query', '--scripts', 'fairlead')
    for (const [, text = ''] of scripts.matchAll(/scriptlet \(using \/bin\/sh\):\n([\s\S]*?)(?=\n\w+ scriptlet|$)/g))
      expect(spawnSync('sh', ['-n'], { input: text, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
    expect(scripts.match(/scriptlet/g)).toHaveLength(3)
    rpm('--erase', '--noscripts', 'fairlead')
    expect(existsSync(join(folder.path, 'usr/bin/fairlead'))).toBe(false)
  },
)

function underSystemd(commands: string): string {
  const { status, stdout, stderr } = spawnSync(script, [packages, `${setup}\n${commands}`], { encoding: 'utf8' })
  expect({ status, stderr, stdout: status === 0 ? '' : stdout }).toEqual({ status: 0, stderr: '', stdout: '' })
  return stdout
}

/** A node with one address, a server that greets and repeats, and a Service in front of it. */
const setup = `
  dpkg -i /packages/${basename(packageHere.deb)} >/dev/null 2>&1
  ip link add node type veth peer name other
  ip address add 192.0.2.10/24 dev node && ip link set node up && ip link set other up && ip route add default dev node
  ${writeObjects}
  perl -MIO::Socket::INET -e '
    $s = IO::Socket::INET->new(LocalPort => 8080, Listen => 5, ReuseAddr => 1) or die;
    $SIG{CHLD} = "IGNORE";
    while (1) {
      $c = $s->accept or next;
      next if fork;
      $c->autoflush; print $c "hello\\n"; while (<$c>) { print $c "you said: $_" } exit }' &
  mode() {
    cat > /etc/fairlead/config.yaml <<END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: $1
bindAddress: 192.0.2.10
conntrack: { maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s }
logging: { verbosity: 2 }
END
    flags="--config=/etc/fairlead/config.yaml --objects=/etc/fairlead/objects.yaml --hostname-override=node1"
    echo "FAIRLEAD_FLAGS=\\"$flags\\"" > /etc/default/fairlead
    systemctl daemon-reload
  }
  main_pid() { systemctl show --property=MainPID --value $1; }
  until_journal() {
    for try in $(seq 300); do journalctl --unit=$1 --no-pager --output=cat | grep -qF "$2" && return; sleep 0.1; done
    journalctl --unit=$1 --no-pager; return 1
  }
  ask() {
    exec 4<>/dev/tcp/10.96.0.10/80
    read -r line <&4 && exec 4>&- && echo "$line" && test "$line" = "$1"
  }
`
