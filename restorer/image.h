/* An image file: opened, its tables read and found sound. */
#ifndef RESTORER_IMAGE_H
#define RESTORER_IMAGE_H

void open_image(void);

#endif
