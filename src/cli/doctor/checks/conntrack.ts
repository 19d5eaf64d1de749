import { wantedConntrackSettings } from '../../../dataplane/sysctl/conntrack-settings.ts'
import { check } from '../check.ts'
import { usesRules } from '../setup.ts'

const [warnAt, full] = [0.75, 0.95]

export const conntrack = check({
  name: 'conntrack',
  title: "the kernel's table of connections",
  needs: ['settings', 'daemon'],
  concerns: usesRules,
  finds: {
    'conntrack-missing': {
      severity: 'warning',
      meaning: 'The kernel does not track connections yet, or hides the settings for it: they keep their defaults.',
      fix: 'modprobe nf_conntrack, and name it in a file of /etc/modules-load.d.',
    },
    'conntrack-full': {
      severity: 'error',
      meaning: 'The table of connections is full (95 %): new connections are dropped.',
      fix: 'Raise --conntrack-max-per-core and --conntrack-min, or find who opens so many: conntrack -L | head.',
    },
    'conntrack-filling': {
      severity: 'warning',
      meaning: 'The table of connections is three quarters full.',
      fix: 'Raise --conntrack-max-per-core and --conntrack-min before it is full.',
    },
    'conntrack-drops': {
      severity: 'warning',
      meaning: 'The kernel has dropped packets since it started, because the table of connections was full.',
      fix: 'Raise --conntrack-max-per-core and --conntrack-min. The count stays until the next boot.',
    },
    'conntrack-insert-failed': {
      severity: 'note',
      meaning: 'Connections were lost in a race, mostly UDP of DNS clients that ask for two addresses at once.',
      fix: 'Harmless if rare. Else use a DNS cache on the node.',
    },
    'conntrack-setting-differs': {
      severity: 'warning',
      meaning: 'A setting is not what the configuration says: somebody has changed it since the proxy started.',
      fix: 'Find who sets it (/etc/sysctl.d, another program), then restart the proxy.',
    },
    'settings-read-only': {
      severity: 'error',
      meaning: 'The proxy would have to change a setting, and /proc/sys is read-only: the setting stays as it is.',
      fix: 'Run fairlead --init-only with the same flags in a privileged init container, or set the flag to 0.',
    },
  },
  *run({ config, cpus, isBeforeStart }, { settings, daemon }, find) {
    const [count, max] = [read('count'), read('max')]
    if (count === undefined || max === undefined) {
      yield find('conntrack-missing', {
        what: 'The table of connections cannot be seen.',
        evidence: 'there is no /proc/sys/net/netfilter/nf_conntrack_max',
      })
      return
    }
    const fill = max === 0 ? 0 : count / max
    const evidence = `${count} of ${max} entries (${Math.round(100 * fill)} %)`
    // Before the start it is no error: a proxy that waits would not empty the table.
    if (fill >= full && !isBeforeStart)
      yield find('conntrack-full', { what: 'The table of connections is full.', evidence })
    else if (fill >= warnAt) yield find('conntrack-filling', { what: 'The table of connections fills up.', evidence })
    const { drop = 0, early_drop: early = 0, insert_failed: failed = 0 } = settings.conntrackStats ?? {}
    if (drop + early > 0)
      yield find('conntrack-drops', {
        what: 'Packets were dropped because the table of connections was full.',
        evidence: `/proc/net/stat/nf_conntrack: drop ${drop}, early_drop ${early}`,
      })
    if (failed > 0)
      yield find('conntrack-insert-failed', {
        what: 'Some connections were lost in a race.',
        evidence: `/proc/net/stat/nf_conntrack: insert_failed ${failed}`,
      })
    for (const { file, value } of wantedConntrackSettings(config.conntrack, cpus)) {
      const is = settings.value(`net/netfilter/${file}`)
      if (is === String(value) || is === undefined) continue
      const difference = `net.netfilter.${file} = ${is}, configured: ${value}`
      if (isBeforeStart && settings.isReadOnly)
        yield find('settings-read-only', { what: `${file} has to be changed, and cannot be.`, evidence: difference })
      if (!isBeforeStart && daemon.kind === 'runs')
        yield find('conntrack-setting-differs', { what: `${file} is not as configured.`, evidence: difference })
    }
    function read(name: string): number | undefined {
      return settings.number(`net/netfilter/nf_conntrack_${name}`)
    }
  },
})
