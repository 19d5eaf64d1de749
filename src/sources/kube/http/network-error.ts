/** Tells network errors, which pass, from certificate errors, which a person must look at. */
import { KubeError } from '../kube-error.ts'

export function networkError(error: unknown, doing: string): KubeError {
  const code = codeOf(error)
  const text = error instanceof Error && error.message !== '' ? error.message : (code ?? String(error))
  if (code !== undefined && isTrustProblem(code))
    return new KubeError(
      'untrusted',
      `${doing}: TLS failed (${code}): ${text}; check the certificate authority and the client certificate`,
      { cause: error },
    )
  return new KubeError('unreachable', `${doing}: ${text}`, { cause: error })
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  // Connecting to a name with several addresses fails with one error that holds the others.
  const [first] = error instanceof AggregateError ? error.errors : []
  const { code } = (first ?? error) as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}

function isTrustProblem(code: string): boolean {
  return trustCodes.has(code) || /^ERR_(SSL|TLS|OSSL)_/.test(code)
}

const trustCodes: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_UNTRUSTED',
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])
