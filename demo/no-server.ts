/** A server that the demo needs can't be had here. The message says why, for people. */
export class NoServer extends Error {}
