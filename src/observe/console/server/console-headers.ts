/** Headers of everything that the console answers, whatever it is. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Icons in the style sheet.
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  // The page writes text, never HTML: where it would, the browser refuses.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

export const consoleHeaders = {
  'Content-Security-Policy': policy,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  // What a node does is nothing for the disk of whoever looks, nor for a proxy on the way. Assets say otherwise.
  'Cache-Control': 'no-store',
} as const
