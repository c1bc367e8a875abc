/**
 * The parts of the gap rule, and the token of a settlement, each of which can be left out to show what it is for: with one at false, events are lost or
 * reordered. For tests and fault runs only; there is no way to reach them through the public options.
 */
export interface Safeties {
  /** A missing number is dead only when all that held the sequence's lock have ended. */
  readonly waitForHolders: boolean
  /** The lock that is looked at is the sequence's; else the table's, which an insert straight into a partition doesn't take. */
  readonly lockOfSequence: boolean
  /** What was found late goes before the rows of the window. */
  readonly lateFirst: boolean
  /** A settlement changes a lane only under the token that its relay was given. */
  readonly compareToken: boolean
}

export const allSafe: Safeties = { waitForHolders: true, lockOfSequence: true, lateFirst: true, compareToken: true }
