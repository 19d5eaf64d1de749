import { programsNftables } from '../../../config/proxy-config.ts'
import type { ProgramVersion } from '../../../dataplane/exec/program-version.ts'
import { check } from '../check.ts'
import type { ToolName } from '../evidence/tools.ts'
import { usesIptables } from '../setup.ts'
import type { Setup } from '../setup.ts'

export const tools = check({
  name: 'tools',
  title: 'the tools of the kernel and their versions',
  needs: ['tools'],
  finds: {
    'tool-broken': {
      severity: 'error',
      meaning: 'A tool that the mode uses is there, but does not run.',
      fix: 'Install it again, in a version for this system.',
    },
    'tool-missing': {
      severity: 'error',
      meaning: 'A tool that the mode uses is not in PATH.',
      fix: 'Install it, or add its folder to PATH.',
    },
    'tool-known-bad': {
      severity: 'warning',
      meaning: 'This version of a tool is known to damage or misread rules.',
      fix: 'Install a newer one.',
    },
  },
  *run(setup, { tools: found }, find) {
    for (const name of usedBy(setup)) {
      const tool = found.get(name)
      if (tool?.kind === 'missing')
        yield find('tool-missing', {
          what: `${name} is missing, and the ${setup.config.mode} mode uses it.`,
          evidence: `no program "${name}" in PATH`,
        })
      if (tool?.kind === 'broken')
        yield find('tool-broken', { what: `${name} does not run.`, evidence: `${name} --version: ${tool.reason}` })
    }
    for (const [name, tool] of found) {
      const why = whyBad(name, tool)
      if (why !== undefined && tool.kind === 'found')
        yield find('tool-known-bad', { what: `${name} ${why}.`, evidence: tool.text })
    }
  },
})

function usedBy(setup: Setup): readonly ToolName[] {
  if (programsNftables(setup.config.mode)) return ['nft']
  if (!usesIptables(setup)) return []
  const ip6: readonly ToolName[] = setup.families.includes('ipv6') ? ['ip6tables'] : []
  return ['iptables', ...ip6, ...(setup.config.mode === 'ipvs' ? (['ipset'] as const) : [])]
}

/** Reported by users of kube-proxy: kubernetes/kubernetes issues 71305 and 112477. */
function whyBad(name: ToolName, tool: ProgramVersion): string | undefined {
  if (tool.kind !== 'found' || tool.version === undefined || !name.startsWith('ip')) return undefined
  const isNft = tool.text.includes('(nf_tables)')
  if (isNft && /^1\.8\.[0-2]$/.test(tool.version)) return 'before 1.8.3 mishandles rules in its nf_tables variant'
  if (isNft && tool.version === '1.8.8') return '1.8.8 writes rules that 1.8.7 and older cannot read'
  return undefined
}
