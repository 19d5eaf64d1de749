import type { FlagType } from '../flags/flag.ts'
import { kubernetesVersion } from '../kubernetes-version.ts'

/** What `--version` asks for: nothing, one line, all details, or to report another build of the same release. */
export type VersionRequest =
  { readonly kind: 'none' | 'plain' | 'raw' } | { readonly kind: 'report-as'; readonly version: string }

export const versionRequest: FlagType<VersionRequest> = {
  label: 'version[=true]',
  alone: 'true',
  parse(text) {
    if (text === 'raw') return { ok: true, value: { kind: 'raw' } }
    if (/^(?:1|t|T|TRUE|true|True)$/.test(text)) return { ok: true, value: { kind: 'plain' } }
    if (/^(?:0|f|F|FALSE|false|False)$/.test(text)) return { ok: true, value: { kind: 'none' } }
    if (isSameRelease(text)) return { ok: true, value: { kind: 'report-as', version: text } }
    return {
      ok: false,
      problem: `write true, false, raw, or another build of v${release} such as v${release}-custom.1`,
    }
  },
  render: (value) =>
    value.kind === 'report-as' ? value.version : { none: 'false', plain: 'true', raw: 'raw' }[value.kind],
}

const release = `${kubernetesVersion.major}.${kubernetesVersion.minor}.${kubernetesVersion.patch}`

function isSameRelease(text: string): boolean {
  return text.startsWith(`v${release}`) && /^(?:[-+][0-9A-Za-z.+-]+)?$/.test(text.slice(release.length + 1))
}
