/* fits.h: which of the places where something fits is taken. */
#ifndef SEAM_FITS_H
#define SEAM_FITS_H

enum seam_gap_fit {
	SEAM__FIT_FIRST, /* the lowest address */
	SEAM__FIT_BEST   /* the smallest gap, the lowest of equal ones; above everything only if there is none */
};

#endif
