/** How long an answer may take. A guest on a busy machine may stand still for seconds; its tests say so. */
export function answerDeadlineMs(usualMs: number): number {
  return Number(process.env['ANSWER_DEADLINE_MS'] ?? usualMs)
}
